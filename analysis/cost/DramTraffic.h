// What reaches DRAM, per warp: regular accesses stream, random ones fetch a granule each.
#pragma once

#include "analysis/cost/RandomTraffic.h"
#include "analysis/cost/RegularTraffic.h"

namespace restride::cost {

struct DramTraffic {
  RegularTraffic Regular;
  RandomTraffic Random;
};

/// Of a kernel that is launched \p Launches times.
DramTraffic dramTraffic(const ptx::Function &F, const WarpRunner &Runner, const Sample &S, const Reuse &L1,
                        const Gpu &G, const ptx::LaunchFacts &Facts, double Launches,
                        const ptx::ExecuteLimits &Limits);

} // namespace restride::cost
