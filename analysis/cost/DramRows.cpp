#include "analysis/cost/DramRows.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace restride::cost {

double aloneInRow(uint64_t Granule, uint64_t Next, const Gpu &G) {
  constexpr double Half = 192; // bytes
  const double Gap = double(Next - Granule - 1) * double(granuleSectors(G)) * SectorBytes;
  return Gap / (Gap + Half);
}

double rowsOf(std::vector<uint64_t> &Granules, const Gpu &G) {
  llvm::sort(Granules);
  Granules.erase(llvm::unique(Granules), Granules.end());
  double Rows = Granules.empty() ? 0 : 1;
  for (size_t I = 1; I < Granules.size(); ++I)
    Rows += aloneInRow(Granules[I - 1], Granules[I], G);
  return Rows;
}

void firstRequests(const WarpFootprint &W, function_ref<void(unsigned, const RequestFootprint &)> Each) {
  DenseMap<unsigned, unsigned> Before; // executions of an instruction
  for (const RequestFootprint &R : W.Requests)
    if (!R.Random && !R.Local)
      if (const unsigned Execution = Before[R.Instruction]++; Execution < FirstExecutions)
        Each(Execution, R);
}

void RowScatter::add(const WarpFootprint &W) {
  if (Asked[0].size() >= Enough)
    return;
  const uint64_t GranuleSectors = granuleSectors(G);
  firstRequests(W, [&](unsigned Execution, const RequestFootprint &R) {
    std::vector<Ask> &Seen = Asked[Execution];
    for (const SectorTouch &T : W.touches(R))
      if (const Ask Now = {T.Sector / GranuleSectors, R.Instruction}; Seen.empty() || Seen.back() != Now)
        Seen.push_back(Now);
  });
}

DenseMap<unsigned, double> RowScatter::take() {
  DenseMap<unsigned, double> Sum, Count;
  for (std::vector<Ask> &Seen : Asked) {
    llvm::sort(Seen);
    Seen.erase(llvm::unique(Seen), Seen.end());
    double Alone = 0;
    for (size_t I = Seen.size(); I-- > 0;) {
      if (I + 1 < Seen.size() && Seen[I + 1].first != Seen[I].first)
        Alone = aloneInRow(Seen[I].first, Seen[I + 1].first, G);
      Sum[Seen[I].second] += Alone;
      ++Count[Seen[I].second];
    }
  }
  for (auto &[Instruction, Alone] : Sum)
    Alone /= Count[Instruction];
  return Sum;
}

} // namespace restride::cost
