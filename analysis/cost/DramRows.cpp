#include "analysis/cost/DramRows.h"

#include "analysis/cost/NumberMap.h"
#include "analysis/cost/SortedNumbers.h"

using namespace llvm;

namespace restride::cost {

double aloneInRow(uint64_t Granule, uint64_t Next, const Gpu &G) {
  constexpr double Half = 192; // bytes
  const double Gap = double(Next - Granule - 1) * double(granuleSectors(G)) * SectorBytes;
  return Gap / (Gap + Half);
}

double rowsOf(std::vector<uint64_t> &Granules, const Gpu &G) {
  sortOnce(Granules);
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
  if (Asked[0].Count >= Enough)
    return;
  const uint64_t GranuleSectors = granuleSectors(G);
  firstRequests(W, [&](unsigned Execution, const RequestFootprint &R) {
    Asks &Seen = Asked[Execution];
    std::vector<uint64_t> &Of = Seen.Of[R.Instruction];
    for (const SectorTouch &T : W.touches(R))
      if (const Ask Now = {T.Sector / GranuleSectors, R.Instruction}; Seen.Last != Now) {
        Of.push_back(Now.first);
        Seen.Last = Now;
        ++Seen.Count;
      }
  });
}

DenseMap<unsigned, double> RowScatter::take() {
  DenseMap<unsigned, double> Sum, Count;
  for (Asks &Seen : Asked) {
    NumberMap Distinct;
    std::vector<uint64_t> All;
    for (auto &[Instruction, Granules] : Seen.Of) {
      sortOnce(Granules);
      copy_if(Granules, std::back_inserter(All), [&](uint64_t Granule) { return Distinct.insert(Granule); });
    }
    sortOnce(All);
    std::vector<double> Alone(All.size()); // the last one's is 0
    for (size_t I = 1; I < All.size(); ++I)
      Alone[I - 1] = aloneInRow(All[I - 1], All[I], G);
    for (const auto &[Instruction, Granules] : Seen.Of) {
      size_t At = All.size();
      double &Total = Sum[Instruction];
      for (uint64_t Granule : reverse(Granules)) {
        while (All[--At] != Granule)
          ;
        Total += Alone[At];
      }
      Count[Instruction] += double(Granules.size());
    }
  }
  for (auto &[Instruction, Alone] : Sum)
    Alone /= Count[Instruction];
  return Sum;
}

} // namespace restride::cost
