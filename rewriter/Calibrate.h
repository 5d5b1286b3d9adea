// --calibrate: a profile for the GPU of this machine, or the program that makes
// it on another one.
#pragma once

#include "rewriter/command/Options.h"

#include "llvm/Support/Error.h"

namespace restride {

/// Builds and runs the benchmarks and writes O.Calibrate. Where there is no nvcc
/// or no GPU it writes the benchmarks beside it, as a .cu file. Returns what to
/// tell the user.
llvm::Expected<std::string> calibrate(const Options &O);

} // namespace restride
