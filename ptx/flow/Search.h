// Loops that look for something and are written to find it soon: the slot of a
// key in a hash table or a chain, or the success of a compare-and-swap.
#pragma once

#include "ptx/flow/ControlFlow.h"

namespace restride::ptx {

/// Whether \p L is left where an integer that it loads equals, or a compare-and-swap
/// returns, a value that is the same in all trips, or for the latter any value.
bool isSearch(const Function &F, const ControlFlow &C, const Loop &L);

} // namespace restride::ptx
