// Coalescing and L2 hit rate of each access as the thesis sees them (Figures
// 3.10 and 3.16). The coefficients of its index normal form are finite
// differences of executed addresses.
#pragma once

#include "analysis/cost/Sampling.h"
#include "analysis/cost/ThesisModel.h"

namespace restride::cost {

/// By index in Function::Body; entries of other instructions mean nothing.
/// \p ResidentWarps share the L2, whole GPU.
std::vector<ThesisAccess> thesisAccesses(const ptx::Function &F, const Sample &S, double ResidentWarps, const Gpu &G);

} // namespace restride::cost
