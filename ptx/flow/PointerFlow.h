// Tells 64-bit pointers from 64-bit integers. PTX does not: a parameter `size_t
// n` and a parameter `float *p` are both .u64, and so are loaded ones.
#pragma once

#include "ptx/parse/Module.h"

#include "llvm/ADT/BitVector.h"

namespace restride::ptx {

/// Registers whose value may become the base of an address, without being
/// scaled on the way, or is stored whole (a struct of pointers being copied).
llvm::BitVector pointerRegisters(const Function &F);

} // namespace restride::ptx
