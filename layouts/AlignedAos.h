// The array of structs with a larger alignment, so that the compiler may join
// loads and stores of neighbouring fields into 8- or 16-byte ones.
//
//   struct __align__(16) P { float x, y, z; };      p[i].x
//
// Where the size of P must not change, a twin takes its place on the device:
//
//   struct __align__(16) PAlign16 : P {};            p[i].x
#pragma once

#include "layouts/Layout.h"

namespace restride {

class AlignedAos : public Layout {
public:
  explicit AlignedAos(uint64_t Bytes)
      : Bytes(Bytes), Name("aos-align" + std::to_string(Bytes)), Suffix("Align" + std::to_string(Bytes)) {}

  llvm::StringRef name() const override { return Name; }
  std::optional<std::string> objection(const Record &R) const override;
  uint64_t offsetOf(const Record &R, const Leaf &L, uint64_t Element, uint64_t) const override {
    return Element * stride(R) + L.Offset;
  }
  uint64_t allocationBytes(const Record &R, uint64_t Count) const override { return Count * stride(R); }
  llvm::StringRef suffix() const override { return Suffix; }
  bool elementIsRecord() const override { return true; }
  std::string accessPattern(llvm::StringRef) const override { return "$b[$i]$p"; }
  std::string definition(const Record &R, llvm::StringRef Handle) const override;
  uint64_t inPlaceAlignment() const override { return Bytes; }

private:
  uint64_t stride(const Record &R) const { return (R.Size + Bytes - 1) / Bytes * Bytes; }

  uint64_t Bytes;
  std::string Name, Suffix;
};

} // namespace restride
