#include "analysis/cost/FillConflicts.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace restride::cost {

/// What is held back behind a store waits for DRAM, with about two others: of one sector as long as of a whole line. One
/// lane, every fourth, and eight in a row took 240 to 350 cycles of an H100's SM, where DRAM takes 710.
double FillConflicts::leastOf(const Gpu &G) {
  constexpr double Together = 3;
  return G.ConflictSectorCycles > 0 ? G.DramLatency / Together / G.ConflictSectorCycles : 0;
}

/// What a sector counts. With lines from DRAM, one that was written in part took 16 cycles of an H200's SM and a whole
/// one 57; with lines from L2 1 to 4, and 10 to 50.
static double sectors(const SectorTouch &T, Wait From) {
  constexpr double Whole = 3.5, NearWhole = 1.5, NearPart = 0.15;
  if (From != Wait::Dram)
    return T.whole() ? NearWhole : NearPart;
  return T.whole() ? Whole : 1;
}

void FillConflicts::count(const StoreRequest &S, double Weight, function_ref<bool(unsigned)> IsInFront, AccessReuse &A) {
  Lines.clear();
  for (const Fill &F : Fills)
    if (F.From != Wait::RandomDram && !Awaited.contains(F.Line) && IsInFront(F.Instruction))
      if (const uint8_t *Other = Lines.find(F.Line); !Other || *Other < uint8_t(F.From))
        Lines.insert(F.Line, uint8_t(F.From));
  double Far = 0;
  unsigned FarSectors = 0;
  for (const SectorTouch &T : S.Touches)
    if (const uint8_t *From = Lines.find(lineOf(T.Sector))) {
      const bool IsFar = Wait(*From) == Wait::Dram;
      (IsFar ? Far : A.NearConflictSectors) += Weight * sectors(T, Wait(*From));
      FarSectors += IsFar;
      Awaited.insert(lineOf(T.Sector));
    }
  constexpr unsigned Few = LineBytes / SectorBytes;
  A.ConflictSectors += FarSectors && FarSectors <= Few ? std::max(Far, Least) : Far;
}

void FillConflicts::endBurst(ArrayRef<StoreRequest> Stores, std::vector<StoreRequest> &Late,
                             MutableArrayRef<AccessReuse> Sums) {
  // Of a store right behind the load a sector takes 25 cycles instead of 16.
  constexpr double RightBehind = 1.6;
  Awaited.clear();
  if (!Fills.empty())
    for (const StoreRequest &S : Late) {
      ArrayRef<unsigned> InFront = Order.LateLoads.find(S.Instruction)->second;
      count(S, RightBehind, [&](unsigned Load) { return is_contained(InFront, Load); }, Sums[S.Instruction]);
    }
  Late.clear();
  for (const StoreRequest &S : Stores)
    if (Order.LateLoads.contains(S.Instruction))
      Late.push_back(S);
    else if (!Order.Waits[S.Instruction] && !Fills.empty())
      count(S, 1, [](unsigned) { return true; }, Sums[S.Instruction]);
  Fills.clear();
}

} // namespace restride::cost
