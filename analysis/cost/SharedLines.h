// What warps and blocks that run together have in common.
#pragma once

#include "analysis/cost/Sampling.h"

namespace restride::cost {

/// Bytes that the loads of \p Resident blocks touch in all trips of their loops, from two of them, \p Two: what these
/// have in common all have.
double loadedBytes(const ptx::Function &F, const Sample &S, llvm::ArrayRef<WarpFootprint> Two, unsigned Resident);

/// Warps beside each other, in \p Block and the next, load next to no line that another one of them does.
bool loadApart(const ptx::Function &F, const WarpRunner &Runner, uint64_t Block, const ptx::ExecuteLimits &Limits);

} // namespace restride::cost
