#include "analysis/cost/SharedLines.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <algorithm>

using namespace llvm;

namespace restride::cost {

/// Bytes of the lines that loads of \p Warps touch in all trips of their loops.
static double loadedBytes(const ptx::Function &F, const Sample &S, ArrayRef<WarpFootprint> Warps) {
  DenseMap<unsigned, double> Requests;
  for (const WarpFootprint &W : Warps)
    for (const RequestFootprint &R : W.Requests)
      ++Requests[R.Instruction];
  DenseMap<uint64_t, double> Lines; // each stands for those of the trips that were not executed
  for (const WarpFootprint &W : Warps)
    for (const RequestFootprint &R : W.Requests)
      if (F.Body[R.Instruction].isLoad())
        for (const SectorTouch &T : W.touches(R)) {
          double &Times = Lines[lineOf(T.Sector)];
          Times = std::max({Times, 1.0, S.weight(R.Instruction) * Warps.size() / Requests[R.Instruction]});
        }
  double Sum = 0;
  for (auto [Line, Times] : Lines)
    Sum += Times;
  return Sum * LineBytes;
}

double loadedBytes(const ptx::Function &F, const Sample &S, ArrayRef<WarpFootprint> Two, unsigned Resident) {
  double Both = loadedBytes(F, S, Two), One = loadedBytes(F, S, Two.take_front(Two.size() / 2));
  return One + (Both - One) * (Resident - 1.0);
}

std::optional<unsigned> loadApart(const ptx::Function &F, const WarpRunner &Runner, uint64_t Block, const ptx::ExecuteLimits &Limits) {
  constexpr double Few = 0.05;
  DenseSet<uint64_t> All;
  size_t Sum = 0; // of lines of each
  auto fewAfter = [&](uint64_t Block, unsigned Warp) {
    const size_t Before = Sum - All.size();
    WarpFootprint W = Runner.footprint(Block, Warp, Limits);
    DenseSet<uint64_t> Own;
    for (const RequestFootprint &R : W.Requests)
      if (F.Body[R.Instruction].isLoad() && !R.Local)
        for (const SectorTouch &T : W.touches(R))
          Own.insert(lineOf(T.Sector));
    Sum += Own.size();
    All.insert(Own.begin(), Own.end());
    return double(Sum - All.size() - Before) < Few * double(Sum);
  };
  const unsigned Warps = Runner.warpsPerBlock();
  fewAfter(Block, 0);
  const bool InBlock = Warps == 1 || fewAfter(Block, 1);
  const bool Across = Block + 1 == Runner.blocks() || fewAfter(Block + 1, 0);
  return !Across ? std::nullopt : std::optional(InBlock ? 1 : Warps);
}

} // namespace restride::cost
