#include "analysis/cost/RandomTraffic.h"

#include "analysis/cost/DramRows.h"
#include "analysis/cost/NumberMap.h"
#include "analysis/cost/SortedNumbers.h"
#include "ptx/execute/AddressMap.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace llvm;

namespace restride::cost {

void RandomLines::add(const WarpFootprint &W) {
  for (const RequestFootprint &R : W.Requests)
    for (const SectorTouch &T : R.Random ? W.touches(R) : ArrayRef<SectorTouch>())
      Granules[T.Sector * SectorBytes >> ptx::RangeBits].push_back(T.Sector / granuleSectors(G));
}

static uint64_t granulesPerLine(const Gpu &G) { return std::max<uint64_t>(1, LineBytes / SectorBytes / granuleSectors(G)); }

/// Bytes of all lines between the first and the last of \p Granules.
static double lineSpan(ArrayRef<uint64_t> Granules, uint64_t PerLine) {
  auto [Low, High] = std::minmax_element(Granules.begin(), Granules.end());
  return double(*High / PerLine - *Low / PerLine + 1) * LineBytes;
}

/// Of all lines, by the period of which the fewest remainders are seen; and granules that are seen of each of these.
/// \p Granules: distinct, ascending.
static std::pair<double, double> touchedShare(ArrayRef<uint64_t> Granules, uint64_t PerLine) {
  constexpr unsigned Longest = 128, MostPerLine = 4; // lines: a tile of 128 records of 128 bytes
  constexpr size_t Each = 4; // samples for a remainder that is not seen to mean something
  // Drawn: each third would be of one field, where three are read of each record.
  const size_t OneIn = Granules.size() / (2 * Each * Longest) + 1;
  std::vector<uint64_t> Drawn; // from the first line on, which leaves as many remainders: small numbers divide faster
  for (auto [K, Granule] : enumerate(Granules))
    if (scattered(K) % OneIn == 0)
      Drawn.push_back(Granule - Granules.front() / PerLine * PerLine);
  auto lines = [&](unsigned Period) { // remainders of lines, and of granules
    const uint32_t Parts = Period * unsigned(PerLine);
    std::array<bool, Longest * MostPerLine> Seen{};
    for (uint64_t Granule : Drawn)
      Seen[Granule >> 32 ? Granule % Parts : uint32_t(Granule) % Parts] = true;
    unsigned Lines = 0, Count = 0;
    for (unsigned Line = 0; Line < Period; ++Line) {
      const auto Of = ArrayRef(Seen).slice(Line * PerLine, PerLine);
      Lines += is_contained(Of, true);
      Count += unsigned(llvm::count(Of, true));
    }
    return std::pair(double(Lines), double(Count));
  };
  auto [Least, Parts] = lines(1);
  for (unsigned Period = 2; Period <= Longest && Period * Each <= Drawn.size(); ++Period) {
    auto [Seen, SeenParts] = lines(Period);
    const double Missing = Period - Seen, ByChance = Period * std::exp(-double(Drawn.size()) / Period);
    if (Missing > ByChance + 3 * std::sqrt(ByChance) && Seen / Period < Least) {
      Least = Seen / Period;
      Parts = SeenParts / Seen;
    }
  }
  return {Least, Parts};
}

double RandomLines::span() const {
  double Sum = 0;
  for (const auto &[Pointer, Seen] : Granules)
    Sum += lineSpan(Seen, granulesPerLine(G));
  return Sum;
}

RandomLines::Touched RandomLines::touched() const {
  const uint64_t PerLine = granulesPerLine(G);
  Touched All;
  double Parts = 0;
  for (auto [Pointer, Seen] : Granules) { // a copy, to sort
    sortOnce(Seen);
    auto [Share, OfEach] = touchedShare(Seen, PerLine);
    const double Bytes = lineSpan(Seen, PerLine) * Share;
    All.Bytes += Bytes;
    Parts += Bytes * OfEach;
  }
  if (All.Bytes > 0)
    All.GranulesPerLine = Parts / All.Bytes;
  return All;
}

double randomHitShare(const RandomLines::Touched &Lines, const Gpu &G) {
  constexpr double Steepness = 4.5;
  if (G.L2RandomBytes <= 0)
    return 0;
  const double LineHeld = std::pow(1 + std::pow(Lines.Bytes / G.L2RandomBytes, Steepness), -1 / Steepness);
  return LineHeld / (LineHeld + Lines.GranulesPerLine * (1 - LineHeld));
}

/// Fields of one element, and of one tile, are translated together: sectors that hold them.
static constexpr uint64_t PartSectors = 512;

/// Random accesses of the sampled warps, averaged.
static void randomAccesses(const ptx::Function &F, const Sample &S, const Gpu &G, RandomTraffic &D) {
  uint64_t GranuleSectors = granuleSectors(G);
  double Seen = 0, Weighted = 0;
  for (auto [I, P] : enumerate(S.PerInstruction))
    if (P.Random)
      Seen += P.Requests / S.Footprints.size(), Weighted += S.weight(I);
  if (Seen == 0)
    return;
  double Scale = Weighted / Seen / S.Footprints.size();
  for (const WarpFootprint &W : S.Footprints) {
    NumberMap Sectors, Granules, DirtyGranules, Parts;
    DenseMap<uint64_t, std::pair<uint32_t, unsigned>> Dirty; // sector: bytes written, requests
    for (const RequestFootprint &R : W.Requests) {
      if (!R.Random)
        continue;
      const ptx::Instruction &I = F.Body[R.Instruction];
      for (const SectorTouch &T : W.touches(R)) {
        Parts.insert(T.Sector / PartSectors);
        if (I.isLoad()) {
          Sectors.insert(T.Sector);
          Granules.insert(T.Sector / GranuleSectors);
          continue;
        }
        if (!I.isStore()) {
          D.AtomicSectors += Scale;
          continue;
        }
        auto &[Bytes, Requests] = Dirty[T.Sector];
        Bytes |= T.Bytes;
        ++Requests;
        DirtyGranules.insert(T.Sector / GranuleSectors);
      }
    }
    for (auto &[Sector, Writes] : Dirty)
      if (Writes.first != ~0u)
        D.PartialStoreSectors += Scale * Writes.second;
    D.LoadSectors += Scale * Sectors.size();
    D.LoadGranules += Scale * Granules.size();
    D.DirtyGranules += Scale * DirtyGranules.size();
    D.Translations += Scale * Parts.size();
  }
}

/// How far granules are alone in their DRAM rows, of those that random loads ask for at a time.
static double loadScatter(const ptx::Function &F, const Sample &S, const Gpu &G) {
  const uint64_t GranuleSectors = granuleSectors(G);
  double Alone = 0, Count = 0;
  std::vector<uint64_t> Granules;
  auto finish = [&] {
    Alone += rowsOf(Granules, G);
    Count += double(Granules.size());
    Granules.clear();
  };
  for (const WarpFootprint &W : S.Footprints) {
    const RequestFootprint *Last = nullptr;
    for (const RequestFootprint &R : W.Requests) {
      if (!R.Random || !F.Body[R.Instruction].isLoad())
        continue;
      if (Last && !S.Order.together(Last->Instruction, R.Instruction))
        finish();
      for (const SectorTouch &T : W.touches(R))
        Granules.push_back(T.Sector / GranuleSectors);
      Last = &R;
    }
    finish();
  }
  return Count > 0 ? Alone / Count : 1;
}

/// Sectors per warp that random loads do not find in L1.
static double randomMisses(const Sample &S, const Reuse &L1) {
  double Sum = 0;
  for (auto [I, A] : enumerate(L1.PerInstruction))
    if (S.PerInstruction[I].Random && A.Requests)
      Sum += S.weight(I) * A.MissSectors / A.Requests;
  return Sum;
}

RandomTraffic randomTraffic(const ptx::Function &F, const Sample &S, const Reuse &L1, const RandomLines &Lines,
                            const Gpu &G, const ptx::LaunchFacts &Facts) {
  RandomTraffic D;
  randomAccesses(F, S, G, D);
  D.LoadScatter = D.LoadGranules > 0 ? loadScatter(F, S, G) : 1;
  double Missed = randomMisses(S, L1);
  if (Missed < D.LoadSectors) { // a small table that L1 holds
    D.LoadGranules *= Missed / D.LoadSectors;
    D.LoadSectors = Missed;
  }
  RandomLines::Touched Touched = Lines.touched();
  // Touched granules of the whole array: of each element as much as a lane touches.
  const double PerElement = std::max(D.LoadGranules, D.DirtyGranules) / WarpLanes * LineBytes / Touched.GranulesPerLine;
  if (PerElement > 0)
    Touched.Bytes = std::min(Touched.Bytes, PerElement * Facts.Elements);
  D.MissShare = 1 - randomHitShare(Touched, G);
  double Span = Lines.span();
  D.Translations *= Span > G.TlbBytes ? 1 - G.TlbBytes / Span : 0;
  return D;
}

} // namespace restride::cost
