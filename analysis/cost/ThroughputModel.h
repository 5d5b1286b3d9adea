// The cost model that users get: time of a launch from five throughput terms
// that overlap imperfectly, joined by a p-norm over the waves of resident blocks.
#pragma once

#include "analysis/cost/DramTraffic.h"
#include "analysis/cost/Occupancy.h"
#include "analysis/cost/Score.h"

namespace restride::cost {

/// What one warp asks of the GPU, averaged over the launch.
struct WarpDemand {
  double Slots = 0;          ///< issue slots
  double TagPasses = 0;      ///< cycles of L1's tag stage
  double BankCycles = 0;     ///< cycles of its data stage
  double L2Sectors = 0;      ///< read
  double L2Requests = 0;     ///< for them, of one line each
  double FillShare = 0;      ///< of the stores: to sectors that DRAM fills first; L2 and DRAM take turns then
  double StorePackets = 0;   ///< of stores and atomics, 32 bytes each
  double BusyPackets = 0;    ///< the same while the port to L2 is busy
  double Conflicts = 0;      ///< sectors written to lines that are being fetched; one in part from DRAM is 1
  double Atomics = 0;        ///< operations of the slice of L2 that gets most
  double LastAtomics = 0;    ///< those of them that follow the loops
  double DramBytes = 0;      ///< of regular accesses, read and written
  double DramCycles = 0;     ///< of an SM, that they take
  double RandomHits = 0;     ///< sectors of random accesses that are in L2
  double RandomGranules = 0; ///< DRAM granules of random accesses
  double RandomCycles = 0;   ///< that their misses take of an SM's DRAM
  double Translations = 0;   ///< random addresses that the TLB does not hold
  double PathCycles = 0;     ///< critical path
};

WarpDemand warpDemand(const ptx::Function &F, const Sample &S, const Reuse &R, const DramTraffic &D, const Gpu &G);

/// Cycles of the five terms of the busiest SM when its blocks of \p WarpsPerBlock
/// warps run once.
Terms waveTerms(const WarpDemand &W, const Wave &Wave, unsigned WarpsPerBlock, const Gpu &G);

/// The p-norm of the terms.
double join(const Terms &T, double PNorm);

/// "issue", "l1", "l2", "dram" or "latency", whichever is largest.
std::string boundBy(const Terms &T);

/// Cost of one launch of \p F. \p Cfg, if given, receives the weighted graph
/// with the latency of each node as its cost.
KernelCost throughputCost(const ptx::Module &M, const ptx::Function &F, const KernelLaunch &L, const Gpu &G,
                          WeightedCfg *Cfg = nullptr);

} // namespace restride::cost
