// The latency of a basic block: the longest chain of instructions that wait for
// each other, with loads at the latency of where they hit.
#pragma once

#include "analysis/cost/Gpu.h"
#include "ptx/ControlFlow.h"

#include "llvm/ADT/ArrayRef.h"

namespace restride::cost {

/// Cycles from the start of \p B until its last result. \p LoadLatency has the
/// average latency (cycles) of each instruction of the function; it is used for
/// loads and atomics of global, generic and local memory.
double criticalPath(const ptx::Function &F, const ptx::Block &B, llvm::ArrayRef<double> LoadLatency, const Gpu &G);

} // namespace restride::cost
