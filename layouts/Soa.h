// Structure of arrays: one array per field, all in one allocation.
//
//   struct PSoA { float *x, *y, *z; };  PSoA p;     p.x[i]
//
// Member arrays become as many arrays, all one pitch apart, that a subscript
// finds, p.v[k][i]; nested records nest, and arrays of them are structs of pointers
// each.
#pragma once

#include "layouts/Layout.h"

namespace restride {

class Soa : public Layout {
public:
  llvm::StringRef name() const override { return "soa"; }
  std::optional<std::string> objection(const Record &R) const override;
  uint64_t offsetOf(const Record &R, const Leaf &L, uint64_t Element, uint64_t Count) const override;
  uint64_t allocationBytes(const Record &R, uint64_t Count) const override;
  llvm::StringRef suffix() const override { return "SoA"; }
  bool handleIsStruct() const override { return true; }
  std::string accessPattern(llvm::StringRef) const override { return "$b$p[$i]"; }
  std::vector<HandleArray> arrays(const Record &R, llvm::StringRef Handle) const override;
  std::string definition(const Record &R, llvm::StringRef Handle) const override;
  /// Keeps every field's array aligned to 256 bytes, as cudaMalloc's result is.
  uint64_t countGranule() const override { return 256; }
};

} // namespace restride
