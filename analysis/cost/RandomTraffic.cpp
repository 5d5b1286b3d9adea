#include "analysis/cost/RandomTraffic.h"

#include "analysis/cost/DramRows.h"
#include "analysis/cost/NumberMap.h"
#include "analysis/cost/SortedNumbers.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace llvm;

namespace restride::cost {

/// How many of the sectors of one request lie anywhere. Lanes that share a record touch it in equal steps, and a field in
/// planes of its own is as far from the field \p Before in all lanes.
static double drawnIn(ArrayRef<SectorTouch> Touches, ArrayRef<SectorTouch> Before) {
  constexpr size_t Few = 3;
  if (Touches.size() < Few)
    return double(Touches.size());
  bool Even = true, Shifted = Before.size() == Touches.size();
  for (size_t I = 1; I < Touches.size(); ++I) {
    const uint64_t Step = Touches[I].Sector - Touches[I - 1].Sector;
    Even &= Step == Touches[1].Sector - Touches[0].Sector;
    Shifted = Shifted && Step == Before[I].Sector - Before[I - 1].Sector;
  }
  return Shifted ? 0 : Even ? 1 : double(Touches.size());
}

void RandomLines::add(const WarpFootprint &W) {
  std::map<uint64_t, ArrayRef<SectorTouch>> Last; // by pointer
  for (const RequestFootprint &R : W.Requests) {
    if (R.Level > Levels.size())
      Levels.resize(R.Level);
    const ArrayRef<SectorTouch> Touches = W.touches(R);
    for (const SectorTouch &T : Touches) {
      const uint64_t Granule = T.Sector / granuleSectors(G);
      if (R.Level)
        Levels[R.Level - 1].push_back(Granule);
      if (R.Random)
        Seen[pointerTo(T.Sector)].Granules.push_back(Granule);
    }
    if (!R.Random || Touches.empty())
      continue;
    const uint64_t Pointer = pointerTo(Touches.front().Sector);
    Seen[Pointer].Draws += drawnIn(Touches, Last[Pointer]);
    Last[Pointer] = Touches;
  }
}

static uint64_t granulesPerLine(const Gpu &G) { return std::max<uint64_t>(1, LineBytes / SectorBytes / granuleSectors(G)); }

/// Bytes of all lines between the first and the last of \p Granules.
static double lineSpan(ArrayRef<uint64_t> Granules, uint64_t PerLine) {
  auto [Low, High] = std::minmax_element(Granules.begin(), Granules.end());
  return double(*High / PerLine - *Low / PerLine + 1) * LineBytes;
}

/// Of all lines, by the period of which the fewest remainders are seen; and granules that are seen of each of these.
/// \p Granules: distinct, ascending. \p Independent: the share of them that lie anywhere.
static std::pair<double, double> touchedShare(ArrayRef<uint64_t> Granules, double Independent, uint64_t PerLine) {
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
  const double Draws = double(Drawn.size()) * Independent;
  for (unsigned Period = 2; Period <= Longest && Period * Each <= Draws; ++Period) {
    auto [Seen, SeenParts] = lines(Period);
    const double Missing = Period - Seen, ByChance = Period * std::exp(-Draws / Period);
    if (Missing > ByChance + 3 * std::sqrt(ByChance) && Seen / Period < Least) {
      Least = Seen / Period;
      Parts = SeenParts / Seen;
    }
  }
  return {Least, Parts};
}

double RandomLines::span() const {
  double Sum = 0;
  for (const auto &[Pointer, At] : Seen)
    Sum += lineSpan(At.Granules, granulesPerLine(G));
  return Sum;
}

RandomLines::Touched RandomLines::touched() const { return touched(Seen); }

RandomLines::Touched RandomLines::touched(const ByPointer &Seen) const {
  const uint64_t PerLine = granulesPerLine(G);
  Touched All;
  double Parts = 0;
  for (auto [Pointer, At] : Seen) { // a copy, to sort
    const double Independent = At.Draws / double(At.Granules.size());
    sortOnce(At.Granules);
    auto [Share, OfEach] = touchedShare(At.Granules, Independent, PerLine);
    const double Bytes = lineSpan(At.Granules, PerLine) * Share;
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

double RandomLines::missShareBelow(unsigned Top) const {
  ByPointer Descent;
  for (const std::vector<uint64_t> &Level : Levels)
    for (uint64_t Granule : Level) {
      Places &At = Descent[pointerTo(Granule * granuleSectors(G))];
      At.Granules.push_back(Granule);
      ++At.Draws;
    }
  const Touched Whole = touched(Descent);
  std::vector<uint64_t> Roots = Levels.front();
  sortOnce(Roots);
  double Sum = 0;
  for (unsigned Level = Top; Level < levels(); ++Level) {
    Touched Here = Whole;
    // With all above, each in a line of its own while these are few.
    if (const double Apart = std::ldexp(double(Roots.size()), int(Level) + 1) * LineBytes; Apart < Whole.Bytes)
      Here = {Apart, 1};
    Sum += 1 - randomHitShare(Here, G);
  }
  return Top < levels() ? Sum / (levels() - Top) : 0;
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
    NumberMap Sectors, Granules, DirtyGranules, Parts, Atomics, AtomicGranules, AtomicLines;
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
          AtomicGranules.insert(T.Sector / GranuleSectors);
          AtomicLines.insert(lineOf(T.Sector));
          if (Atomics.insert(T.Sector) && !Sectors.contains(T.Sector))
            D.AtomicFetched += Scale;
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
    D.AtomicDistinct += Scale * Atomics.size();
    D.AtomicGranules += Scale * AtomicGranules.size();
    D.AtomicLines += Scale * AtomicLines.size();
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

namespace {

/// Loads of loops that descend.
struct Descent {
  double Misses = 0;    ///< sectors per warp that L1 does not have
  double FoundInL1 = 0; ///< share: those of the first levels
};

} // namespace

static Descent descent(const Sample &S, const Reuse &L1) {
  BitVector Descends(S.PerInstruction.size());
  for (const WarpFootprint &W : S.Footprints)
    for (const RequestFootprint &R : W.Requests)
      if (R.Random && R.Level)
        Descends.set(R.Instruction);
  Descent D;
  double All = 0;
  for (unsigned I : Descends.set_bits())
    if (const AccessReuse &A = L1.PerInstruction[I]; A.Requests) {
      D.Misses += S.weight(I) * A.MissSectors / A.Requests;
      All += S.weight(I) * S.PerInstruction[I].Sectors;
    }
  D.FoundInL1 = All > 0 ? std::clamp(1 - D.Misses / All, 0.0, 1.0) : 0;
  return D;
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
  if (const Descent Down = descent(S, L1); Down.Misses > 0 && Lines.levels()) {
    const double Below = Lines.missShareBelow(unsigned(Down.FoundInL1 * Lines.levels()));
    D.MissShare = std::lerp(D.MissShare, Below, std::min(1.0, Down.Misses / Missed));
  }
  double Span = Lines.span();
  D.Translations *= Span > G.TlbBytes ? 1 - G.TlbBytes / Span : 0;
  return D;
}

} // namespace restride::cost
