// Executes a few warps of a launch and averages what its memory instructions
// do. Effort is limited here, in one place: the limits trade time for nothing
// but sampling noise.
#pragma once

#include "analysis/cost/Footprint.h"
#include "analysis/cost/WeightedCfg.h"

namespace restride::cost {

/// Averages of one memory instruction, per executed request.
struct AccessProfile {
  double Requests = 0;   ///< seen, all sampled warps together
  double Sectors = 0;    ///< distinct, per request; 0 for shared memory
  double TagPasses = 0;  ///< cycles of L1's tag stage, per request; 0 for shared memory
  double BankCycles = 0; ///< cycles of its data stage, per request
  double Atomics = 0;    ///< operations of L2 on sectors, per request
  bool Random = false;   ///< some address came from loaded data
  bool Local = false;    ///< local memory
};

struct Sample {
  explicit Sample(const Code &C) : Flow(C.Flow), Order(C.Order) {}

  const ptx::ControlFlow &Flow; ///< of the Code that was sampled
  const IssueOrder &Order;
  WeightedCfg Cfg;
  std::vector<AccessProfile> PerInstruction; ///< by index in Function::Body
  std::vector<WarpFootprint> Footprints;     ///< of the sampled warps
  ptx::WarpTrace Trace;                      ///< of the first one
  std::vector<std::string> Notes;
  bool Cut = false;           ///< some loop ran fewer trips than it has
  double RequestsPerWarp = 0; ///< seen, on average

  /// Executions per warp of instruction \p Index.
  double weight(unsigned Index) const { return Cfg.Nodes[Flow.blockOf(Index)].Weight; }
};

/// The warp that shows the accesses, in the middle of the grid: block and warp.
std::pair<uint64_t, unsigned> middleWarp(const WarpRunner &Runner);

/// Runs the middle warp first and, as far as it stays cheap, others elsewhere.
Sample sample(const Code &C, const WarpRunner &Runner);

/// Runs the first warp of the grid only: its triangular loops are the longest,
/// which is what the thesis counts.
Sample sampleOne(const Code &C, const WarpRunner &Runner);

} // namespace restride::cost
