// Which registers may differ from lane to lane of a warp, as far as a compiler sees.
#pragma once

#include "ptx/parse/Module.h"

#include "llvm/ADT/BitVector.h"

namespace restride::ptx {

/// Registers that follow from the thread's number, from what is loaded (but for parameters and constants at one address)
/// or from what other threads do. Where lanes part and meet again is not looked at.
llvm::BitVector varyingRegisters(const Function &F);

} // namespace restride::ptx
