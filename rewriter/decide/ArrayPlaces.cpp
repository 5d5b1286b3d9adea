#include "rewriter/decide/ArrayPlaces.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

namespace restride {

/// A larger tile is not described: records with whole arrays in them.
static constexpr uint64_t MostTileBytes = 1 << 16;

static void addWord(ptx::KnownObject &To, std::optional<uint64_t> Value) {
  for (unsigned Byte = 0; Byte < WordBytes; ++Byte)
    To.Bytes.push_back(Value ? std::optional(uint8_t(*Value >> 8 * Byte)) : std::nullopt);
}

ObjectPlaces handlePlaces(const Candidate &C, const Layout &L, double Assumed) {
  const Record &R = C.Type;
  const uint64_t Count = uint64_t(std::max(C.Elements.Count, 0.0)), Granule = L.countGranule();
  const uint64_t Pitch = llvm::alignTo(Count ? Count : uint64_t(Assumed), Granule);
  const bool Struct = L.handleIsStruct();
  const uint64_t TileElements = Struct ? 1 : Granule;
  const std::vector<HandleArray> Arrays = Struct ? L.arrays(R, "") : std::vector<HandleArray>(1);
  ObjectPlaces Out;
  std::vector<size_t> Words; // by array
  for (const HandleArray &A : Arrays) {
    Words.push_back(Out.Arrays.size());
    addWord(Out.Object, std::nullopt);
    if (Struct)
      Out.Arrays.push_back({llvm::alignTo(Count, Granule) * A.Size * A.Arrays, A.Size, R.Size, {}, Count, R.Size});
    else
      Out.Arrays.push_back({L.allocationBytes(R, Count), L.allocationBytes(R, Granule), Granule * R.Size, {}, Count, R.Size});
    ptx::ArrayPlace &Place = Out.Arrays.back();
    Place.Source.assign(Place.TileBytes <= MostTileBytes ? Place.TileBytes * A.Arrays : 0, ~0u);
    if (A.Arrays == 1)
      continue;
    Place.PitchBytes = Pitch * A.Size;
    addWord(Out.Object, Pitch);
    Out.Arrays.push_back({});
  }
  if (C.refused()) { // it stays as it is, and not all of its members may be described
    for (ptx::ArrayPlace &P : Out.Arrays)
      std::iota(P.Source.begin(), P.Source.end(), 0u);
    return Out;
  }
  for (const Leaf &F : leaves(R)) {
    uint64_t At = L.offsetOf(R, F, 0, Granule), Array = 0;
    const uint64_t Step = TileElements > 1 ? L.offsetOf(R, F, 1, Granule) - At : 0;
    // Of a struct's arrays, each holds as many elements.
    auto BytesOf = [&](const HandleArray &A) { return A.Arrays * A.Size * Granule; };
    for (; Struct && Array + 1 < Arrays.size() && At >= BytesOf(Arrays[Array]); ++Array)
      At -= BytesOf(Arrays[Array]);
    if (const uint64_t Size = Arrays[Array].Size; Struct) // a tile of each array
      At = At / (Size * Granule) * Size + At % (Size * Granule);
    ptx::ArrayPlace &P = Out.Arrays[Words[Array]];
    for (uint64_t Element = 0; Element < TileElements; ++Element)
      for (uint64_t Byte = 0; Byte < F.Size; ++Byte)
        if (uint64_t To = At + Element * Step + Byte; To < P.Source.size())
          P.Source[To] = uint32_t(Element * R.Size + F.Offset + Byte);
  }
  return Out;
}

std::optional<ptx::ArrayPlace> declaredPlace(const Candidate &C, const Layout &L) {
  if (!declaredForm(L).handleIsArray())
    return handlePlaces(C, L, 0).Arrays.front();
  const Record &R = C.Type;
  ptx::ArrayPlace Out;
  Out.Elements = uint64_t(C.Elements.Count), Out.RecordBytes = R.Size, Out.SourceBytes = Out.Elements * R.Size;
  if (Out.SourceBytes > MostTileBytes)
    return std::nullopt;
  for (const Leaf &F : leaves(R)) {
    Out.Source.resize(llvm::alignTo(Out.Source.size(), F.Align), ~0u);
    for (uint64_t Element = 0; Element < Out.Elements; ++Element)
      for (uint64_t Byte = 0; Byte < F.Size; ++Byte)
        Out.Source.push_back(uint32_t(Element * R.Size + F.Offset + Byte));
  }
  Out.TileBytes = Out.Source.size();
  return Out;
}

} // namespace restride
