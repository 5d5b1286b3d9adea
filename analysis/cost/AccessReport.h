// Says for each memory instruction of a kernel where it stands in the source
// and how well it is coalesced.
#pragma once

#include "analysis/cost/Sampling.h"
#include "analysis/cost/Score.h"

namespace restride::cost {

/// The source location a user looks for: where the access was inlined, its
/// outermost call site, which lies in the kernel's own text.
ptx::SourceLocation outermost(const ptx::Instruction &I);

/// One entry per global, generic or local access that was executed, in program order.
std::vector<AccessCost> accessCosts(const ptx::Module &M, const ptx::Function &F, const Sample &S);

} // namespace restride::cost
