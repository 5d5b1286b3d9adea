// Which registers may differ from lane to lane of a warp, as far as a compiler sees.
#pragma once

#include "ptx/parse/Module.h"

#include "llvm/ADT/BitVector.h"

namespace restride::ptx {

/// Registers that follow from the thread's number, from what other threads do, or from what is loaded from different
/// addresses. Where lanes part and meet again is not looked at.
llvm::BitVector varyingRegisters(const Function &F);

} // namespace restride::ptx
