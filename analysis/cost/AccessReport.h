// Says for each memory instruction of a kernel where it stands in the source,
// how well it is coalesced and where its data come from.
#pragma once

#include "analysis/cost/DramTraffic.h"
#include "analysis/cost/Occupancy.h"
#include "analysis/cost/Score.h"

namespace restride::cost {

/// The source location a user looks for: where the access was inlined, its
/// outermost call site, which lies in the kernel's own text.
ptx::SourceLocation outermost(const ptx::Instruction &I);

/// Where loads find their data, by index in Function::Body: L1 by simulation, the rest as DRAM's traffic was counted.
std::vector<Hits> loadHits(const Sample &S, const Reuse &R, const DramTraffic &D);

/// One entry per global, generic or local access that was executed, in program
/// order. \p From as loadHits gives it, or empty.
std::vector<AccessCost> accessCosts(const ptx::Module &M, const ptx::Function &F, const Sample &S,
                                    llvm::ArrayRef<Hits> From = {});

/// What was assumed of loops, with their places.
std::vector<PlacedNote> loopNotes(const ptx::Module &M, const Sample &S);

/// What an SM of \p G holds of a grid of \p Blocks blocks.
Residency residency(const Occupancy &O, uint64_t Blocks, const Gpu &G);

} // namespace restride::cost
