#include "analysis/cost/Rank.h"

#include "analysis/cost/ThesisModel.h"
#include "analysis/cost/ThroughputModel.h"
#include "ptx/flow/NarrowLoads.h"
#include "ptx/parse/Inline.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;

namespace restride::cost {

/// Two variants of a kernel of 2 µs that differ by a shift and a mask were measured 12 % apart: this share of
/// LaunchCycles. Launches of one kernel vary together, and those of several each in its own way.
static constexpr double LaunchNoise = 0.2;

/// What a layout that is less simple has to gain over another one.
static constexpr double WorthIt = 0.003;

double conversionCycles(ArrayRef<Conversion> Conversions, const Gpu &G) {
  double Cycles = 0;
  for (const Conversion &C : Conversions)
    Cycles += C.Times * (G.LaunchCycles + G.streamCycles(2 * C.Bytes));
  return Cycles;
}

Expected<Score> score(const ptx::Module &M, ArrayRef<KernelLaunch> Kernels, ArrayRef<Conversion> Conversions,
                      const Gpu &G, Model Which) {
  Score S;
  S.Warnings = M.Warnings;
  for (const KernelLaunch &L : Kernels) {
    const ptx::Function *F = M.find(L.Function);
    if (!F || F->Body.empty())
      return createStringError("kernel '" + L.Function + "' has no code in the compiled PTX");
    // Device functions that the compiler left as calls belong to their kernel.
    ptx::Function Whole = ptx::inlineCalls(M, *F);
    if (Which == Model::Throughput)
      ptx::narrowLoads(Whole);
    KernelCost K = Which == Model::Thesis ? thesisCost(M, Whole, L, G) : throughputCost(M, Whole, L, G);
    S.Cycles += K.Cycles * K.Calls;
    if (Which == Model::Throughput)
      S.NoiseCycles = std::hypot(S.NoiseCycles, LaunchNoise * G.LaunchCycles * K.Calls);
    S.Kernels.push_back(std::move(K));
  }
  if (Which == Model::Throughput)
    S.ConversionCycles = conversionCycles(Conversions, G);
  else if (!Conversions.empty())
    S.Warnings.push_back("the thesis model counts cycles of one warp and has no price for conversions");
  return S;
}

Choice choose(ArrayRef<Score> Scores, size_t Original, double MinSpeedup) {
  Choice C;
  C.Winner = Original;
  if (Original >= Scores.size())
    return C;
  size_t Best = Original;
  for (size_t I = 0; I < Scores.size(); ++I)
    if (Scores[I].total() < Scores[Best].total() * (1 - (Best == Original ? 0 : WorthIt)))
      Best = I;
  if (double Fastest = Scores[Best].total(); Fastest > 0)
    C.Speedup = Scores[Original].total() / Fastest;
  bool IsNoise = Scores[Original].total() - Scores[Best].total() < Scores[Original].NoiseCycles;
  C.Tie = Best == Original || C.Speedup < MinSpeedup || IsNoise;
  C.Winner = C.Tie ? Original : Best;
  return C;
}

} // namespace restride::cost
