#include "analysis/cost/MeanScore.h"

#include "analysis/cost/ThroughputModel.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cmath>

using namespace llvm;

namespace restride::cost {

static double mean(ArrayRef<Score> Scores, function_ref<double(const Score &)> Of) {
  double Logs = 0;
  for (const Score &S : Scores) {
    double Value = Of(S);
    if (Value <= 0)
      return 0;
    Logs += std::log(Value);
  }
  return std::exp(Logs / double(Scores.size()));
}

Score meanScore(ArrayRef<Score> Scores) {
  Score Out = Scores.back();
  Out.Cycles = 0;
  for (size_t K = 0; K < Out.Kernels.size(); ++K) {
    KernelCost &Kernel = Out.Kernels[K];
    auto of = [&](function_ref<double(const KernelCost &)> Of) {
      return mean(Scores, [&](const Score &S) { return Of(S.Kernels[K]); });
    };
    Kernel.Cycles = of([](const KernelCost &C) { return C.Cycles; });
    for (double Terms::*Term : {&Terms::Issue, &Terms::L1, &Terms::L2, &Terms::Dram, &Terms::Latency})
      Kernel.Parts.*Term = of([&](const KernelCost &C) { return C.Parts.*Term; });
    Kernel.L2Bytes = of([](const KernelCost &C) { return C.L2Bytes; });
    Kernel.DramBytes = of([](const KernelCost &C) { return C.DramBytes; });
    Kernel.BoundBy = boundBy(Kernel.Parts);
    Out.Cycles += Kernel.Cycles * Kernel.Calls;
  }
  Out.ConversionCycles = mean(Scores, [](const Score &S) { return S.ConversionCycles; });
  for (const Score &S : Scores)
    Out.AtSizes.push_back(S.total());
  return Out;
}

} // namespace restride::cost
