// Scores one variant from its PTX with one of the two cost models, and chooses
// among the scores of a candidate's variants.
#pragma once

#include "analysis/cost/Gpu.h"
#include "analysis/cost/Score.h"

namespace restride::cost {

enum class Model { Throughput, Thesis };

/// A conversion between host layout and device layout: copies of all kinds.
struct Conversion {
  double Bytes = 0; ///< of the user's records, one copy
  double Times = 1; ///< how often the program makes this copy
};

/// Scores all \p Kernels found in \p M. A kernel without code in M is an error.
llvm::Expected<Score> score(const ptx::Module &M, llvm::ArrayRef<KernelLaunch> Kernels,
                            llvm::ArrayRef<Conversion> Conversions, const Gpu &G, Model Which);

/// Cycles of all \p Conversions: a kernel that reads and writes each byte at
/// DRAM's streaming rate, and its launch.
double conversionCycles(llvm::ArrayRef<Conversion> Conversions, const Gpu &G);

struct Choice {
  size_t Winner = 0;  ///< index of the variant to take
  double Speedup = 1; ///< predicted time of the original / of the fastest variant
  bool Tie = true;    ///< the gain is inside the model's error: Winner is the original
};

/// Predictions and measurements disagree on who wins inside this.
constexpr double DefaultMinSpeedup = 1.02;

/// The fastest of \p Scores, or the original where the fastest gains less than
/// \p MinSpeedup, or less than what its launches vary by. Among equals, which differ by 0.3 % at most, the earlier wins, so
/// callers list simple layouts first.
Choice choose(llvm::ArrayRef<Score> Scores, size_t Original, double MinSpeedup = DefaultMinSpeedup);

} // namespace restride::cost
