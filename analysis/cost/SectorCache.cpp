#include "analysis/cost/SectorCache.h"

namespace restride::cost {

static constexpr unsigned Draws = 4; ///< lines among which the oldest is replaced

SectorCache::Slot &SectorCache::slotFor(uint64_t Line) {
  auto [It, New] = Index.try_emplace(Line, Slots.size());
  if (!New)
    return Slots[It->second];
  if (Slots.size() < Lines) {
    Slots.push_back({Line, 0, 0});
    return Slots.back();
  }
  uint32_t Victim = 0;
  for (unsigned D = 0; D < Draws; ++D) {
    Random = Random * 6364136223846793005ull + 1442695040888963407ull;
    uint32_t Drawn = (Random >> 33) % Lines;
    if (D == 0 || Slots[Drawn].Time < Slots[Victim].Time)
      Victim = Drawn;
  }
  It->second = Victim;
  Index.erase(Slots[Victim].Line);
  Slots[Victim] = {Line, 0, 0};
  return Slots[Victim];
}

bool SectorCache::touch(uint64_t Sector) {
  if (!Lines)
    return false;
  Slot &S = slotFor(Sector / SectorsPerLine);
  S.Time = ++Now;
  uint32_t Bit = 1u << Sector % SectorsPerLine;
  bool Hit = S.Sectors & Bit;
  S.Sectors |= Bit;
  return Hit;
}

} // namespace restride::cost
