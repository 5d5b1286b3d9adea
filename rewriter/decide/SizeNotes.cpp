#include "rewriter/decide/SizeNotes.h"

#include "rewriter/decide/Fastest.h"

#include "llvm/ADT/StringExtras.h"

namespace restride {

/// The layout to take where all arrays have the size number \p Size; the thesis's model scores one size only.
static llvm::StringRef winnerAt(size_t Size, llvm::ArrayRef<const Trial *> Trials, double MinSpeedup) {
  std::vector<cost::Score> Scores(Trials.size());
  for (size_t T = 0; T < Trials.size(); ++T) {
    Scores[T].Cycles = Trials[T]->Score.AtSizes[Size];
    Scores[T].NoiseCycles = Trials[T]->Score.NoiseCycles;
  }
  return Trials[fastest(Trials, Scores, MinSpeedup, cost::Model::Throughput).Winner]->L->name();
}

void noteSizes(llvm::MutableArrayRef<Trial> Trials, double MinSpeedup) {
  std::vector<uint64_t> Sizes = assumedSizes();
  std::vector<const Trial *> Scored;
  for (const Trial &T : Trials)
    if (!T.Refused && T.Score.AtSizes.size() == Sizes.size())
      Scored.push_back(&T);
  if (Scored.empty())
    return;
  std::vector<std::string> Winners;
  bool Differ = false;
  for (size_t S = 0; S < Sizes.size(); ++S) {
    llvm::StringRef Name = winnerAt(S, Scored, MinSpeedup);
    Winners.push_back((Name + " at " + llvm::Twine(Sizes[S])).str());
    Differ |= Name != winnerAt(0, Scored, MinSpeedup);
  }
  if (!Differ)
    return;
  std::string Note = "which layout is fastest depends on the number of elements: " + llvm::join(Winners, ", ");
  for (Trial &T : Trials)
    if (!T.Refused && !T.Score.Kernels.empty())
      T.Score.Kernels.front().Notes.push_back(Note);
}

} // namespace restride
