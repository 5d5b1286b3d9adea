#include "rewriter/decide/Fastest.h"

namespace restride {

/// A field's bytes lie together for longer in larger tiles, which has no price, and for longest in arrays, which also
/// leave the simplest code. On an H200 asta128 took 0.95 to 1.01 of asta32's time in eight programs where both are
/// predicted alike (docs/cost-model.md).
static size_t largestTile(size_t Winner, llvm::ArrayRef<const Trial *> Trials, llvm::ArrayRef<cost::Score> Scores) {
  constexpr double Alike = 1.002;
  auto isTile = [&](size_t I) { return Trials[I]->L->name().starts_with("asta"); };
  auto elements = [&](size_t I) { // that a field's bytes lie together for; 0: no tile
    return isTile(I) ? Trials[I]->L->countGranule() : Trials[I]->L->name() == "soa" ? ~uint64_t(0) : 0;
  };
  if (Winner == 0 || !isTile(Winner))
    return Winner;
  size_t Out = Winner;
  for (size_t I = 0; I < Trials.size(); ++I)
    if (Scores[I].total() < Scores[Winner].total() * Alike && elements(I) > elements(Out))
      Out = I;
  return Out;
}

cost::Choice fastest(llvm::ArrayRef<const Trial *> Trials, llvm::ArrayRef<cost::Score> Scores, double MinSpeedup, cost::Model Model) {
  cost::Choice Out = cost::choose(Scores, 0, MinSpeedup);
  if (Model == cost::Model::Throughput)
    Out.Winner = largestTile(Out.Winner, Trials, Scores);
  return Out;
}

} // namespace restride
