#include "layouts/Asta.h"
#include "layouts/Members.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace restride {

Asta::Asta(uint64_t Tile)
    : Tile(Tile), Name("asta" + std::to_string(Tile)), Suffix("Tile" + std::to_string(Tile)),
      Access("$b[$i >> " + std::to_string(llvm::Log2_64(Tile)) + "]$p[$i & " + std::to_string(Tile - 1) + "]") {}

static uint64_t alignTo(uint64_t Value, uint64_t Align) { return (Value + Align - 1) / Align * Align; }

/// Where the tile's array of \p L begins, bytes; the end of the tile for the
/// leaf after the last. The struct's own padding rules hold.
static uint64_t arrayBegin(const std::vector<Leaf> &All, llvm::StringRef Path, uint64_t Tile) {
  uint64_t At = 0;
  for (const Leaf &L : All) {
    At = alignTo(At, L.Align);
    if (L.Path == Path)
      return At;
    At += L.Size * Tile;
  }
  return At;
}

uint64_t Asta::tileBytes(const Record &R) const {
  std::vector<Leaf> All = leaves(R);
  uint64_t Align = 1;
  for (const Leaf &L : All)
    Align = std::max(Align, L.Align);
  return alignTo(arrayBegin(All, "", Tile), Align);
}

uint64_t Asta::offsetOf(const Record &R, const Leaf &L, uint64_t Element, uint64_t) const {
  return Element / Tile * tileBytes(R) + arrayBegin(leaves(R), L.Path, Tile) + Element % Tile * L.Size;
}

uint64_t Asta::allocationBytes(const Record &R, uint64_t Count) const {
  return (Count + Tile - 1) / Tile * tileBytes(R);
}

std::string Asta::definition(const Record &R, llvm::StringRef Handle) const {
  std::string T = "[" + std::to_string(Tile) + "]";
  auto Array = [&](const Field &F, const std::string &Extents) {
    return Member{F.Type, F.KeepWhole ? F.Name + T + Extents : F.Name + Extents + T};
  };
  std::string Size = std::to_string(Tile);
  return std::string(GeneratedMark) + " " + R.Name + " in tiles: element i is entry i % " + Size + " of tile i / " + Size + ".\n" +
         "struct " + Handle.str() + " {\n" + declareMembers(R.Fields, Array) + "};\n";
}

} // namespace restride
