// Structure of arrays for an array that is declared with its extent: the arrays
// lie in the record itself.
//
//   template <size_t Extent> struct PArrays { float x[Extent], y[Extent]; };
//   __constant__ PArrays<64> p;     p.x[i]
#pragma once

#include "layouts/Soa.h"

namespace restride {

class DeclaredSoa : public Soa {
public:
  llvm::StringRef suffix() const override { return "Arrays"; }
  bool handleIsArray() const override { return true; }
  std::string definition(const Record &R, llvm::StringRef Handle) const override;
};

} // namespace restride
