// What warps and blocks that run together have in common.
#pragma once

#include "analysis/cost/Sampling.h"

#include <optional>

namespace restride::cost {

/// Bytes that the loads of \p Resident blocks touch in all trips of their loops, from two of them, \p Two: what these
/// have in common all have.
double loadedBytes(const ptx::Function &F, const Sample &S, llvm::ArrayRef<WarpFootprint> Two, unsigned Resident);

/// How many warps it takes to load next to no line that others do, those of \p Block and the next: one, or all of a block;
/// none: blocks have lines in common.
std::optional<unsigned> loadApart(const ptx::Function &F, const WarpRunner &Runner, uint64_t Block, const ptx::ExecuteLimits &Limits);

} // namespace restride::cost
