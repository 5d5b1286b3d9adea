// What reaches DRAM, per warp: regular accesses stream, random ones fetch a granule each.
#pragma once

#include "analysis/cost/RandomTraffic.h"
#include "analysis/cost/RegularTraffic.h"

namespace restride::cost {

struct DramTraffic {
  RegularTraffic Regular;
  RandomTraffic Random;
};

/// Of a kernel that is launched \p Launches times. \p KnownFootprint caps the range of random accesses, bytes; 0: unknown.
DramTraffic dramTraffic(const ptx::Function &F, const WarpRunner &Runner, const Sample &S, const Reuse &L1,
                        const Gpu &G, const ptx::LaunchFacts &Facts, double KnownFootprint, double Launches,
                        const ptx::ExecuteLimits &Limits);

} // namespace restride::cost
