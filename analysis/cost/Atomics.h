// What L2 does one after the other because atomics go to few places.
#pragma once

#include "analysis/cost/Footprint.h"

#include "llvm/ADT/BitVector.h"

namespace restride::cost {

/// Of global memory.
bool isAtomic(const ptx::Instruction &I);

/// Of shared memory.
bool isSharedAtomic(const ptx::Instruction &I);

/// Cycles of an SM's L1 for one request of shared memory. Integers of 32 bits are added in place, the rest in a loop around a
/// compare-and-swap, that goes round once for each lane that means the same word.
double sharedAtomicCycles(const ptx::Instruction &I, const ptx::Request &R);

/// The atomics of \p F, by index in its body, that one lane does for all of its warp: ptxas sees that these have one address.
/// No floats, whose sums depend on the order.
llvm::BitVector joinedAtomics(const ptx::Function &F);

/// Operations on sectors that L2 makes of one request. Those of a sector wait for each other only where lanes mean the
/// same word.
double atomicOperations(const ptx::Request &R, bool Joined);

/// Operations of one warp by line, ascending.
using LineOperations = std::vector<std::pair<uint64_t, double>>;

/// Lines that the atomics of many warps go to, from those that some of them have in common. Infinite where they have none.
double atomicLines(llvm::ArrayRef<LineOperations> Warps);

/// Share of evenly spread operations on \p Lines that goes to the slice of L2 that gets most.
double busiestSlice(double Lines);

/// The same where others take the place of these lines as blocks end: what waits for one slice is done while the next ones
/// are asked.
double busiestSliceInPassing(double Lines);

/// The same of the atomics of blocks that run at a time, \p BlocksAtATime of the whole GPU; each array by itself. More than
/// that where floats are added to few words, and each sum waits for the one before. 0: there are none.
double busiestSlice(const ptx::Function &F, const WarpRunner &Runner, uint64_t BlocksAtATime);

} // namespace restride::cost
