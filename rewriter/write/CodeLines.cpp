#include "rewriter/write/CodeLines.h"

namespace restride {

std::vector<CodeLine> codeLines(llvm::StringRef Text) {
  std::vector<CodeLine> Out;
  unsigned End = 0; ///< of the last token
  for (const TextToken &T : tokensOf(Text)) {
    if (Out.empty() || Text.slice(End, T.Where.Begin).contains('\n'))
      Out.push_back({{T.Where.Begin, T.Where.End}, {}});
    Out.back().Where.End = End = T.Where.End;
    Out.back().Tokens.push_back(T.Text.str());
  }
  return Out;
}

std::vector<Hunk> differences(llvm::ArrayRef<CodeLine> Old, llvm::ArrayRef<CodeLine> New) {
  size_t Front = 0, Back = 0;
  while (Front < Old.size() && Front < New.size() && Old[Front] == New[Front])
    ++Front;
  while (Back + Front < Old.size() && Back + Front < New.size() && Old[Old.size() - 1 - Back] == New[New.size() - 1 - Back])
    ++Back;
  size_t N = Old.size() - Front - Back, M = New.size() - Front - Back;
  static constexpr size_t MaxCells = 40 << 20;
  if ((N + 1) * (M + 1) > MaxCells)
    return {};
  // Lengths of the longest common part from each pair of lines on.
  std::vector<unsigned> Length((N + 1) * (M + 1));
  auto At = [&](size_t I, size_t K) -> unsigned & { return Length[I * (M + 1) + K]; };
  auto Same = [&](size_t I, size_t K) { return Old[Front + I] == New[Front + K]; };
  for (size_t I = N; I-- > 0;)
    for (size_t K = M; K-- > 0;)
      At(I, K) = Same(I, K) ? At(I + 1, K + 1) + 1 : std::max(At(I + 1, K), At(I, K + 1));
  std::vector<Hunk> Out;
  for (size_t I = 0, K = 0; I < N || K < M;) {
    if (I < N && K < M && Same(I, K)) {
      ++I, ++K;
      continue;
    }
    Hunk H{Front + I, 0, Front + K, 0};
    while ((I < N || K < M) && !(I < N && K < M && Same(I, K))) {
      if (K == M || (I < N && At(I + 1, K) >= At(I, K + 1)))
        ++I;
      else
        ++K;
    }
    H.OldEnd = Front + I, H.NewEnd = Front + K;
    Out.push_back(H);
  }
  return Out;
}

} // namespace restride
