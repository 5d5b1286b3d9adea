// Loops that march: `for (float t = enter; t < leave; t += step)`.
#pragma once

#include "ptx/flow/ControlFlow.h"

namespace restride::ptx {

/// Whether \p L is left where a floating-point value that trips move on by the same amount has passed a bound.
bool marches(const Function &F, const ControlFlow &C, const Loop &L);

} // namespace restride::ptx
