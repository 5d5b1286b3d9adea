// Where a loop changes registers.
#pragma once

#include "ptx/flow/ControlFlow.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace restride::ptx {

/// Instructions of a loop, by the register that they write.
using LoopWrites = llvm::DenseMap<int, llvm::SmallVector<unsigned, 2>>;

LoopWrites writesIn(const Function &F, const ControlFlow &C, const Loop &L);

} // namespace restride::ptx
