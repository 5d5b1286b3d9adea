// Where loads hit: one SM with its resident blocks, warps taking turns, an L1 of
// 128-byte lines in 32-byte sectors and this SM's share of L2 behind it.
#pragma once

#include "analysis/cost/Footprint.h"
#include "analysis/cost/Gpu.h"

namespace restride::cost {

/// Sums over the simulated executions of one memory instruction.
struct AccessReuse {
  double Requests = 0;
  double HitL1 = 0, HitL2 = 0, HitDram = 0; ///< requests by the farthest level they went to; loads only
  /// Of those that hit L1: they wait for what L2 or DRAM was asked for in the same turn, by this warp or another.
  double WaitL2 = 0, WaitDram = 0;
  double LateL2 = 0; ///< of those that hit L2: the same, DRAM
  double MissSectors = 0;                   ///< sectors read from L2
  double MissGranules = 0;                  ///< DRAM granules not in this SM's share of L2; regular loads only
};

struct Reuse {
  std::vector<AccessReuse> PerInstruction; ///< by index in Function::Body
  /// Sectors that regular stores send to L2, per request of a store: those of
  /// one burst are merged, as neighbouring stores to one record are.
  double StoreSectorsPerRequest = 0;
};

/// \p ResidentBlocks blocks of one SM, taken \p G.Sms apart; \p Generations of
/// them one after another, the last one is counted.
Reuse simulate(const ptx::Function &F, const ptx::ControlFlow &C, const WarpRunner &Runner, const Gpu &G,
               unsigned ResidentBlocks, unsigned Generations, const ptx::ExecuteLimits &Limits);

} // namespace restride::cost
