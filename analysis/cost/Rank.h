// Scores one variant from its PTX with one of the two cost models.
#pragma once

#include "analysis/cost/Gpu.h"
#include "analysis/cost/Score.h"

namespace restride::cost {

enum class Model { Throughput, Thesis };

/// A conversion between host layout and device layout: copies of all kinds.
struct Conversion {
  double Bytes = 0;  ///< of the user's records, one copy
  double Times = 1;  ///< how often the program makes this copy
};

/// Scores all \p Kernels found in \p M. A kernel without code in M is an error.
llvm::Expected<Score> score(const ptx::Module &M, llvm::ArrayRef<KernelLaunch> Kernels,
                            llvm::ArrayRef<Conversion> Conversions, const Gpu &G, Model Which);

} // namespace restride::cost
