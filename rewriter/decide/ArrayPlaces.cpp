#include "rewriter/decide/ArrayPlaces.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace restride {

/// A larger tile is not described: records with whole arrays in them.
static constexpr uint64_t MostTileBytes = 1 << 16;

std::vector<ptx::ArrayPlace> arrayPlaces(const Candidate &C, const Layout &L) {
  const Record &R = C.Type;
  const uint64_t Count = uint64_t(std::max(C.Elements.Count, 0.0)), Granule = L.countGranule();
  const bool Struct = L.handleIsStruct();
  const uint64_t TileElements = Struct ? 1 : Granule;
  std::vector<ptx::ArrayPlace> Out;
  if (Struct)
    for (const HandleArray &A : L.arrays(R, ""))
      Out.push_back({llvm::alignTo(Count, Granule) * A.Size, A.Size, R.Size, {}, Count, R.Size});
  else
    Out.push_back({L.allocationBytes(R, Count), L.allocationBytes(R, Granule), Granule * R.Size, {}, Count, R.Size});
  for (ptx::ArrayPlace &P : Out)
    P.Source.assign(P.TileBytes <= MostTileBytes ? P.TileBytes : 0, ~0u);
  for (const Leaf &F : leaves(R)) {
    uint64_t At = L.offsetOf(R, F, 0, Granule);
    const uint64_t Step = TileElements > 1 ? L.offsetOf(R, F, 1, Granule) - At : 0;
    auto P = Out.begin(); // of a struct's arrays, each holds as many elements
    for (; Struct && P + 1 != Out.end() && At >= P->TileBytes * Granule; ++P)
      At -= P->TileBytes * Granule;
    for (uint64_t Element = 0; Element < TileElements; ++Element)
      for (uint64_t Byte = 0; Byte < F.Size; ++Byte)
        if (uint64_t To = At + Element * Step + Byte; To < P->Source.size())
          P->Source[To] = uint32_t(Element * R.Size + F.Offset + Byte);
  }
  return Out;
}

} // namespace restride
