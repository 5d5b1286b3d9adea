// A kernel's weighted control-flow graph as values for a report.
#pragma once

#include "analysis/cost/Sampling.h"
#include "analysis/cost/Score.h"

namespace restride::cost {

/// One node per basic block, same numbers.
std::vector<FlowNode> flowNodes(const ptx::Module &M, const ptx::Function &F, const Sample &S);

} // namespace restride::cost
