// Loops that go from element to element by what they load: through a list or a
// tree, or halving a range.
#pragma once

#include "ptx/flow/ControlFlow.h"

namespace restride::ptx {

/// Whether an address in loop \p L follows from what an earlier trip of it
/// loaded, by data flow. Branches on loaded data do not count.
bool isWalk(const Function &F, const ControlFlow &C, const Loop &L);

} // namespace restride::ptx
