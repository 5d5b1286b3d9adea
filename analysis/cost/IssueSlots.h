// Names the cost classes of a PTX instruction, keys of a profile's
// IssueWeights and Latencies.
#pragma once

#include "analysis/cost/Gpu.h"
#include "ptx/parse/Module.h"

namespace restride::cost {

/// Key of Gpu::IssueWeights. A PTX instruction is not one machine instruction:
/// the weight says how many issue slots it becomes.
llvm::StringRef issueClass(const ptx::Instruction &I);

/// Key of Gpu::UnitLanes: the unit that it keeps busy; empty: one as wide as issue.
llvm::StringRef unitOf(const ptx::Instruction &I);

/// Key of Gpu::Latencies; empty for loads and atomics of global memory, whose
/// latency depends on where they hit.
llvm::StringRef latencyClass(const ptx::Instruction &I);

/// Issue slots of one execution by a warp.
double issueSlots(const ptx::Instruction &I, const Gpu &G);

} // namespace restride::cost
