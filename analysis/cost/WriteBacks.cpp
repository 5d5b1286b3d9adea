#include "analysis/cost/WriteBacks.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace restride::cost {

void WriteBacks::add(const WarpFootprint &W) {
  if (Stored[0].size() >= Enough)
    return;
  firstRequests(W, [&](unsigned Execution, const RequestFootprint &R) {
    if (F.Body[R.Instruction].isStore())
      for (const SectorTouch &T : W.touches(R))
        Stored[Execution].push_back({T.Sector, R.Instruction});
  });
}

/// Of the line whose stores, sorted, are those from \p First to \p End.
double WriteBacks::lineCycles(const std::vector<Store> &Stores, size_t First, size_t End) const {
  const uint64_t Line = lineOf(Stores[First].first);
  const bool Beside = (First > 0 && lineOf(Stores[First - 1].first) + 1 == Line) ||
                      (End < Stores.size() && lineOf(Stores[End].first) == Line + 1);
  const double Stream = LineBytes / G.DramBytesPerCycle;
  return Beside ? Stream : std::max(Stream, G.WriteBackCycles);
}

DenseMap<unsigned, double> WriteBacks::take() {
  DenseMap<unsigned, double> Sum, Count;
  for (std::vector<Store> &Stores : Stored) {
    llvm::sort(Stores);
    Stores.erase(llvm::unique(Stores), Stores.end());
    for (size_t First = 0, End = 0; First < Stores.size(); First = End) {
      unsigned Sectors = 0;
      for (; End < Stores.size() && lineOf(Stores[End].first) == lineOf(Stores[First].first); ++End)
        Sectors += End == First || Stores[End].first != Stores[End - 1].first;
      const double Cycles = lineCycles(Stores, First, End) / Sectors;
      for (size_t K = First; K < End; ++K) {
        Sum[Stores[K].second] += Cycles;
        ++Count[Stores[K].second];
      }
    }
  }
  for (auto &[Instruction, Cycles] : Sum)
    Cycles /= Count[Instruction];
  return Sum;
}

} // namespace restride::cost
