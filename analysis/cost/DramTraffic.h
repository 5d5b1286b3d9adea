// What reaches DRAM, per warp. Regular addresses stream: neighbouring blocks
// share granules, and data that fit L2 are fetched once. Random addresses (from
// loaded indices) fetch a granule each, unless L2 holds it by chance.
#pragma once

#include "analysis/cost/Gpu.h"
#include "analysis/cost/Reuse.h"
#include "analysis/cost/Sampling.h"

namespace restride::cost {

/// Per warp of the launch.
struct DramTraffic {
  double ReadBytes = 0, WriteBytes = 0; ///< regular
  bool Resident = false;                ///< the regular data fit in L2
  // Random accesses.
  double LoadSectors = 0;         ///< distinct
  double LoadGranules = 0;        ///< distinct
  double StoreSectors = 0;        ///< of all requests, atomics too
  double PartialStoreSectors = 0; ///< of all requests, to sectors that they leave partly written
  double DirtyGranules = 0;       ///< distinct, written by stores
  double MissShare = 0;           ///< probability that a random granule is not in L2
  double Translations = 0;        ///< of random addresses, that the TLB does not hold
};

/// \p KnownFootprint caps the range of random accesses, bytes; 0: unknown.
DramTraffic dramTraffic(const ptx::Function &F, const WarpRunner &Runner, const Sample &S, const Reuse &L1,
                        const Gpu &G, const ptx::LaunchFacts &Facts, double KnownFootprint,
                        const ptx::ExecuteLimits &Limits);

} // namespace restride::cost
