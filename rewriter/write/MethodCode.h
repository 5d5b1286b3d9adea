// Member functions that change elements in place, written for a layout:
//
//   static inline __device__ void PSoA_move(PSoA p, ptrdiff_t i, float dt) {
//     p.x[i] += dt * p.vx[i];
//   }
#pragma once

#include "rewriter/write/SiteEdits.h"

namespace restride {

/// "move", "pos_add": for elementFunction().
std::string methodFunction(const Candidate &C, const MethodUse &Use);

/// The functions for Needs.Methods and those that they call, callees first. What
/// their bodies need of the helper code is added.
llvm::Expected<std::vector<std::string>> methodCode(const Move &M, const Sources &Text, HelperNeeds &Needs);

} // namespace restride
