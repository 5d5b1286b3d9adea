// How many blocks of a kernel one SM holds at a time, and in how many waves the
// grid runs. The limits are those of cuda_occupancy.h; the waves are the block
// occupancy of Mukunoki, Imamura and Takahashi's Kepler SGEMV.
#pragma once

#include "analysis/cost/Gpu.h"
#include "ptx/execute/Execute.h"
#include "ptx/parse/Module.h"

#include <string>
#include <vector>

namespace restride::cost {

struct Resources {
  unsigned ThreadRegisters = 0; ///< 32-bit registers per thread
  uint64_t SharedBytes = 0;     ///< per block, static and dynamic
  unsigned BlockThreads = 0;
};

struct Occupancy {
  unsigned WarpsPerBlock = 1;
  unsigned ResidentBlocks = 1; ///< per SM, at most
  std::string LimitedBy;       ///< "registers", "shared memory", "warps", "blocks"
};

/// A block that fits no SM gives one resident block: the launch would fail, but
/// a score must not.
Occupancy occupancy(const Resources &R, const Gpu &G);

/// One phase of a grid: the busiest SM holds Blocks blocks, Times times over.
struct Wave {
  double Blocks = 0; ///< resident on the busiest SM
  double Mean = 0;   ///< resident per SM
  double Times = 0;
};

/// The waves of \p GridBlocks blocks. A grid of more than \p SmoothFrom blocks
/// per SM is treated as continuous, since its blocks do not run in step.
std::vector<Wave> waves(uint64_t GridBlocks, const Occupancy &O, const Gpu &G, double SmoothFrom = 30);

/// Resources of \p F launched with \p L.
Resources resources(const ptx::Function &F, const ptx::LaunchFacts &L, unsigned ThreadRegisters);

} // namespace restride::cost
