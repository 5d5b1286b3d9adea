// Puts the bodies of called device functions in place of the calls, so that
// control flow, loops, execution and cost see one function. Compilers leave
// calls for __noinline__, for big functions, and throughout debug builds.
#pragma once

#include "ptx/parse/Module.h"

namespace restride::ptx {

/// \p F with its calls expanded. Left as they are: calls through a register, to
/// functions without a body in \p M (vprintf), with a guard, of a function that
/// is being expanded already, or beyond \p MaxInstructions.
Function inlineCalls(const Module &M, const Function &F, unsigned MaxInstructions = 20000);

} // namespace restride::ptx
