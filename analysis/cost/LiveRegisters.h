// Estimates the registers of a thread from PTX. PTX has as many registers as it
// likes and ptxas decides; what it needs is about what is live at once.
#pragma once

#include "ptx/flow/ControlFlow.h"

namespace restride::cost {

/// 32-bit registers per thread: the most that are live between two
/// instructions, 64-bit ones as two, plus a few for addresses that ptxas keeps.
/// At least 16, at most .maxnreg and \p Most, rounded up to 8 as the hardware does.
unsigned estimateRegisters(const ptx::Function &F, const ptx::ControlFlow &C, unsigned Most = 255);

} // namespace restride::cost
