// The array of structs as the program has it: the original.
//
//   struct P { float x, y; };  P *p;     p[i].x
#pragma once

#include "layouts/Layout.h"

namespace restride {

class Aos : public Layout {
public:
  llvm::StringRef name() const override { return "aos"; }
  uint64_t offsetOf(const Record &R, const Leaf &L, uint64_t Element, uint64_t) const override {
    return Element * R.Size + L.Offset;
  }
  uint64_t allocationBytes(const Record &R, uint64_t Count) const override { return Count * R.Size; }
  llvm::StringRef suffix() const override { return ""; }
  bool elementIsRecord() const override { return true; }
  std::string accessPattern(llvm::StringRef) const override { return "$b[$i]$p"; }
  std::string definition(const Record &, llvm::StringRef) const override { return ""; }
};

} // namespace restride
