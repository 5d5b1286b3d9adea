#include "analysis/cost/SectorCache.h"

#include "llvm/Support/MathExtras.h"

namespace restride::cost {

static constexpr unsigned Draws = 4; ///< lines among which the oldest is replaced

SectorCache::SectorCache(uint64_t Lines, unsigned SectorsPerLine)
    : Lines(Lines), LineShift(llvm::Log2_32(SectorsPerLine)) {
  Slots.reserve(Lines);
  Table.assign(llvm::PowerOf2Ceil(4 * Lines + 1), 0);
  Mask = Table.size() - 1;
}

/// Empties a place and moves up what probed past it.
void SectorCache::erase(size_t At) {
  Table[At] = 0;
  for (size_t Next = (At + 1) & Mask; Table[Next]; Next = (Next + 1) & Mask) {
    size_t Home = home(Slots[Table[Next] - 1].Line);
    if (((Next - Home) & Mask) < ((Next - At) & Mask))
      continue;
    Table[At] = Table[Next];
    Table[Next] = 0;
    At = Next;
  }
}

SectorCache::Slot &SectorCache::replace(uint64_t Line, size_t At) {
  uint32_t Victim = Slots.size();
  if (Victim < Lines)
    Slots.emplace_back();
  else {
    for (unsigned D = 0; D < Draws; ++D) {
      Random = Random * 6364136223846793005ull + 1442695040888963407ull;
      uint32_t Drawn = uint32_t(Random >> 33) % uint32_t(Lines);
      if (D == 0 || Slots[Drawn].Time < Slots[Victim].Time)
        Victim = Drawn;
    }
    erase(find(Slots[Victim].Line));
    At = find(Line); // erasing may have moved the empty place
  }
  Slots[Victim] = {Line, 0, 0, 0};
  Table[At] = Victim + 1;
  return Slots[Victim];
}

} // namespace restride::cost
