// Where loads hit: one SM with its resident blocks, warps taking turns, an L1 of
// 128-byte lines in 32-byte sectors and this SM's share of L2 behind it. While
// the L1 pipe is busy, the oldest warps go on before younger ones have a turn.
//
// Blocks are out of step at first. Where they read the same data, the one in
// front waits for L2 or DRAM and the others find the data in L1, until they have
// caught up; the launch ends with the one in front. So what loads are waited
// for is that of the slowest block.
#pragma once

#include "analysis/cost/Gpu.h"
#include "analysis/cost/Sampling.h"

#include <array>

namespace restride::cost {

/// What a burst of loads waits for, from near to far: what the farthest of them asks for, or what it hits and was
/// asked for in the same turn, by this warp or another.
enum class Wait { L1, L2, Dram, RandomDram };

/// Sums over the simulated executions of one memory instruction.
struct AccessReuse {
  double Requests = 0;
  double HitL1 = 0, HitL2 = 0, HitDram = 0; ///< requests by the farthest level they went to; loads only
  /// Loads of the slowest block by what their burst waits for.
  std::array<double, 4> Waits{};
  double Spread = 0;                        ///< of the same that wait for DRAM: standard deviations that its last row is late
  double Sectors = 0;                       ///< that are accessed
  double MissSectors = 0;                   ///< of them, read from L2
  double MissLines = 0;                     ///< requests to L2 for them: of one line each
  double Packets = 0;                       ///< of stores and atomics to L2, of 32 bytes
  double BusyPackets = 0;                   ///< the same while stores of other warps come between
  double ConflictSectors = 0;               ///< of stores, whose line is being fetched from DRAM
  double NearConflictSectors = 0;           ///< the same from L2
  double MissGranules = 0;                  ///< DRAM granules not in this SM's share of L2; regular loads only
  double FirstGranules = 0;                 ///< of these, not asked for before by the blocks that the SM has at a time
  double DirtiedSectors = 0;                ///< in granules that this share did not hold as written; regular stores only
};

struct Reuse {
  std::vector<AccessReuse> PerInstruction; ///< by index in Function::Body
  ptx::ExecuteLimits Limits;               ///< of the warps that were simulated
  double AtATime = 1;                      ///< share of the launch's blocks that all SMs have at a time
};

/// \p ResidentBlocks blocks of one SM, about \p G.Sms apart; \p Generations of
/// them one after another, the last one is counted. \p Sampled says what a request
/// costs the L1 pipe.
Reuse simulate(const ptx::Function &F, const Sample &Sampled, const WarpRunner &Runner, const Gpu &G,
               unsigned ResidentBlocks, unsigned Generations, const ptx::ExecuteLimits &Limits);

} // namespace restride::cost
