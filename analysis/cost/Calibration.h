// A profile for the GPU at hand. The benchmarks are a CUDA program of their own
// (gpus/calibrate.cu) that prints a whole profile, so that they can run where
// restride is not. What they do not measure, because it is a fit of the cost
// model and no figure of the hardware, is carried over from another profile.
#pragma once

#include "analysis/cost/Gpu.h"

namespace restride::cost {

/// How every such program begins.
llvm::StringRef calibrationHeading();

/// The CUDA program. It exits with NoGpuStatus where it finds no GPU.
llvm::Expected<std::string> calibrationProgram(const Gpu &Base);

inline constexpr int NoGpuStatus = 3;

} // namespace restride::cost
