// One warp while it executes: registers, memory, loops, and where each lane is.
#pragma once

#include "ptx/execute/LoopTracker.h"
#include "ptx/execute/WarpMemory.h"

#include "llvm/ADT/SmallVector.h"

namespace restride::ptx {

/// Lanes that wait to execute a block.
struct LaneGroup {
  unsigned Block = 0;
  uint32_t Mask = 0;
};

/// One warp while it runs.
class Warp {
public:
  Warp(const Program &P, const LaunchFacts &Facts, Dim3 BlockIndex, unsigned Number, const ExecuteLimits &Limits,
       RequestSink Each);
  WarpTrace run();

private:
  uint64_t linearBlock(Dim3 I) const { return (uint64_t(I.Z) * Facts.Grid.Y + I.Y) * Facts.Grid.X + I.X; }
  uint64_t warpsPerBlock() const { return std::max<uint64_t>((Facts.Block.count() + 31) / 32, 1); }
  uint64_t special(Special Which, unsigned Lane) const;
  void fillConstants();

  /// Executes a block for \p Mask and puts its lanes where they go next.
  void step(unsigned Block, uint32_t Mask);
  /// Executes one instruction that is no branch.
  void execute(unsigned Index, uint32_t Mask, bool Records);
  uint32_t guarded(const MicroOp &Op, uint32_t Mask) const;
  void record(unsigned Index, Request &R);

  /// Lanes that are known to have \p Value in the predicate \p Register.
  uint32_t decided(int Register, bool Value) const;
  /// Lanes of \p Mask that take the branch, given those whose predicate holds.
  uint32_t decide(const BranchInfo &Info, const MicroOp &Op, uint32_t Mask, uint32_t Taken);
  /// Lanes that a branch which data decide sends one way, each with \p Probability.
  uint32_t drawLanes(const BranchInfo &Info, double Probability) const;
  /// How likely lanes like \p Lane are to append to the list of \p Info, at most, so that all of them find room; none: it is not known.
  std::optional<double> appendProbability(const BranchInfo &Info, unsigned Lane) const;
  /// Trips that loop \p L makes each time, as far as they are counted; 1: they are not.
  double tripsOf(int L, unsigned Lane) const;
  /// Lanes that have not found what they look for.
  uint32_t searchOn(const BranchInfo &Info) const;
  /// The same for a branch around a loop that depends on data: the loop runs.
  uint32_t enterLoop(const BranchInfo &Info, const MicroOp &Op, uint32_t Unknown, uint32_t Taken) const;
  /// The same seen from the loop: which lanes stay.
  uint32_t stayInCounted(int L, uint32_t Stay);
  /// Lanes of \p Mask whose counter says that they stay, wherever it comes from, or would if the loop had the \p Bound.
  uint32_t stayByCount(const LoopInfo &L, uint32_t Mask, std::optional<uint64_t> Bound = std::nullopt) const;
  bool stridesGrid(const LoopInfo &L, unsigned Lane) const;
  uint32_t stayOnData(const BranchInfo &Info, uint32_t Stay, uint32_t Unknown);
  /// The counter of \p L as its test compares it.
  uint64_t counter(const LoopInfo &L, unsigned Lane) const;
  std::optional<uint64_t> tripsLeftOf(const LoopInfo &L, unsigned Lane) const;
  int64_t sum(const Step &S, unsigned Lane, unsigned Bits) const;
  void advance(const LoopInfo &L, unsigned Lane, uint64_t Trips);

  void go(unsigned From, unsigned To, uint32_t Mask);
  void leaveLoops(unsigned From);
  /// Once for each thing that was approximated.
  void warn(std::string What);
  void slowDown() { Trace.Truncated = Hurry = true; }

  const Program &P;
  const LaunchFacts &Facts;
  const Dim3 BlockIndex;
  const unsigned Number;
  const ExecuteLimits Limits;
  const RequestSink Each;
  RegisterFile R;
  WarpMemory Memory;
  LoopTracker Loops;
  llvm::SmallVector<LaneGroup, 8> Groups; ///< by falling rank: the next one is last
  WarpTrace Trace;
  uint64_t Issued = 0;
  uint8_t Level = 0;             ///< of the requests of the block that is executed
  size_t Requests = 0;           ///< that were recorded
  bool Hurry = false;            ///< a limit is reached: one trip per loop from here on
  std::vector<uint8_t> Recorded; ///< per instruction: requests kept after the limit
};

} // namespace restride::ptx
