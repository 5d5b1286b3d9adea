// Array of structures of tiled arrays: tiles of T elements, a structure of
// arrays inside each tile. Near an element's fields lie in one tile.
//
//   struct PTile32 { float x[32], y[32]; };  PTile32 *p;   p[i >> 5].x[i & 31]
//
// Shift and mask and not / and %: a signed division by a power of two needs a
// correction for negative values, an arithmetic shift is already the floor.
#pragma once

#include "layouts/Layout.h"

namespace restride {

class Asta : public Layout {
public:
  /// \p Tile: elements in a tile, a power of two.
  explicit Asta(uint64_t Tile);

  llvm::StringRef name() const override { return Name; }
  uint64_t offsetOf(const Record &R, const Leaf &L, uint64_t Element, uint64_t) const override;
  uint64_t allocationBytes(const Record &R, uint64_t Count) const override;
  llvm::StringRef suffix() const override { return Suffix; }
  std::string accessPattern(llvm::StringRef) const override { return Access; }
  bool canShift() const override { return false; }
  std::string definition(const Record &R, llvm::StringRef Handle) const override;
  uint64_t countGranule() const override { return Tile; }

private:
  uint64_t tileBytes(const Record &R) const;

  uint64_t Tile;
  std::string Name, Suffix, Access;
};

} // namespace restride
