// The bridge to LLVM's dominator trees and loop analysis. They want a graph of
// pointers with parents; ours is of numbers, so a copy is made, analysed, and
// read back. Nothing of LLVM's templates leaves this file pair.
#pragma once

#include "ptx/flow/ControlFlow.h"

namespace restride::ptx {

/// Fills in Idom, Ipdom, Loops, LoopOf and Warnings from Blocks.
void findDominatorsAndLoops(ControlFlow &C);

} // namespace restride::ptx
