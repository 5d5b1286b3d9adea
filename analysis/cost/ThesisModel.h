// The cost model of Nakai's thesis (Mie University, 2018), kept to reproduce it:
// cycles of one warp as the weighted sum over the control-flow graph, with
// latencies corrected for coalescing, L2 hits and overlap. Equation and figure
// numbers are the thesis's; docs/cost-model.md lists where its text had to be
// corrected.
#pragma once

#include "analysis/cost/Gpu.h"
#include "analysis/cost/Score.h"
#include "analysis/cost/WeightedCfg.h"

namespace restride::cost {

/// Figure 3.10 with line 14 the right way up: transactions of 128 bytes, 1 to
/// 32, of a warp whose neighbouring lanes are \p StrideBytes apart. 0: broadcast.
unsigned thesisTransactions(uint64_t StrideBytes);

/// Equation (3), corrected to C_loop * size: share of a loop's accesses that
/// find the line of an earlier iteration, when each moves \p StepBytes.
double thesisVariantHit(uint64_t StepBytes);

/// Equation (2): all but the first of \p Executions hit.
double thesisInvariantHit(double Executions);

struct ThesisAccess {
  unsigned Transactions = 1;
  double Hit = 0; ///< probability of an L2 hit
};

/// Equations (4) to (8), literally: cycles of loads that overlap. Where all hit
/// alike they telescope to the last one's latency + (n - 1) delays.
double thesisGroup(llvm::ArrayRef<ThesisAccess> Group, const Gpu &G);

/// Cycles of one warp; Terms::Issue has the arithmetic, Terms::Dram the memory.
KernelCost thesisCost(const ptx::Module &M, const ptx::Function &F, const KernelLaunch &L, const Gpu &G,
                      WeightedCfg *Cfg = nullptr);

} // namespace restride::cost
