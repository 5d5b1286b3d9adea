#include "analysis/cost/DramTraffic.h"

#include "analysis/cost/NumberMap.h"
#include "ptx/execute/AddressMap.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>
#include <bitset>
#include <map>
#include <numeric>

using namespace llvm;

namespace restride::cost {

namespace {

/// Union of byte ranges, one per memory instruction, of addresses that are not random.
class Ranges {
public:
  explicit Ranges(const ptx::Function &F) : F(F), Of(F.Body.size()) {}

  template <typename Filter> void add(const WarpFootprint &W, Filter Counts) {
    std::map<uint64_t, Range> Own; // by pointer
    for (const RequestFootprint &R : W.Requests)
      if (R.Count && !R.Random && !R.Local && Counts(F.Body[R.Instruction])) {
        uint64_t Low = W.Touches[R.First].Sector, High = W.Touches[R.First + R.Count - 1].Sector + 1;
        for (Range *In : {&Of[R.Instruction], &Own[Low * SectorBytes >> ptx::RangeBits]})
          *In = {std::min(In->Low, Low), std::max(In->High, High)};
      }
    double Span = 0;
    for (auto [Pointer, In] : Own)
      Span += double(In.High - In.Low) * SectorBytes;
    Spans.push_back(Span);
  }

  double bytes() const {
    std::vector<Range> Sorted = Of;
    llvm::sort(Sorted);
    double Sectors = 0;
    uint64_t End = 0;
    for (auto [Low, High] : Sorted)
      if (High > Low && High > End) {
        Sectors += High - std::max(Low, End);
        End = High;
      }
    return Sectors * SectorBytes;
  }

  /// Between the first and the last of one warp, by pointer.
  double bytesOfWarp() const {
    std::vector<double> Sorted = Spans;
    llvm::sort(Sorted);
    return Sorted.empty() ? 0 : Sorted[Sorted.size() / 2];
  }

private:
  struct Range {
    uint64_t Low = ~0ull, High = 0; ///< sectors
    bool operator<(const Range &O) const { return Low < O.Low; }
  };
  const ptx::Function &F;
  std::vector<Range> Of;
  std::vector<double> Spans; ///< of each warp
};

/// The 128-byte lines among which random accesses choose, by pointer. Those of one
/// field of tiles, or of large records, come in a period, and L2 holds no others.
class RandomLines {
public:
  void add(const WarpFootprint &W) {
    for (const RequestFootprint &R : W.Requests)
      for (const SectorTouch &T : R.Random ? W.touches(R) : ArrayRef<SectorTouch>())
        Lines[T.Sector * SectorBytes >> ptx::RangeBits].push_back(T.Sector / (LineBytes / SectorBytes));
  }

  /// Of all lines between the first and the last, by pointer.
  double span() const {
    double Sum = 0;
    for (const auto &[Pointer, Seen] : Lines)
      Sum += span(Seen);
    return Sum;
  }

  /// Of those of them that are touched.
  double bytes() const {
    double Sum = 0;
    for (const auto &[Pointer, Seen] : Lines)
      Sum += span(Seen) * share(Seen);
    return Sum;
  }

private:
  static double span(ArrayRef<uint64_t> Seen) {
    auto [Low, High] = std::minmax_element(Seen.begin(), Seen.end());
    return double(*High - *Low + 1) * LineBytes;
  }

  /// Of all lines, by the period of which the fewest remainders are seen.
  static double share(ArrayRef<uint64_t> Seen) {
    constexpr unsigned Longest = 128; // lines: a tile of 128 records of 128 bytes
    constexpr size_t Each = 4;        // samples for a remainder that is not seen to mean something
    const size_t Step = Seen.size() / (2 * Each * Longest) | 1; // odd: of all fields' requests alike
    double Least = 1;
    for (unsigned Period = 2; Period <= Longest && Period * Each * Step <= Seen.size(); ++Period) {
      std::bitset<Longest> Remainders;
      for (size_t K = 0; K < Seen.size(); K += Step)
        Remainders.set(Seen[K] % Period);
      if (Remainders.count() * 2 <= Period) // a few are missing by chance
        Least = std::min(Least, double(Remainders.count()) / Period);
    }
    return Least;
  }

  std::map<uint64_t, std::vector<uint64_t>> Lines;
};

/// Distinct granules and sectors of a run of neighbouring blocks. The growth
/// over its second half leaves out what the edges of the run add.
class Neighbours {
public:
  Neighbours(const ptx::Function &F, const Gpu &G) : F(F), GranuleSectors(std::max(1.0, G.DramGranule / SectorBytes)) {}

  void add(const WarpFootprint &W) {
    for (const RequestFootprint &R : W.Requests) {
      const ptx::Instruction &I = F.Body[R.Instruction];
      if (R.Random || R.Local || !(I.isLoad() || I.isStore()))
        continue;
      for (const SectorTouch &T : W.touches(R))
        if (uint64_t Granule = T.Sector / GranuleSectors; Touched.insert(Granule), I.isStore())
          Written.insert(T.Sector);
        else if (InBlock.insert(Granule))
          Read.insert(Granule);
    }
  }
  void endBlock() {
    BlockSum += InBlock.size();
    InBlock.clear();
  }

  struct Count {
    double Read = 0, Written = 0, Touched = 0, BlockSum = 0;
  };
  Count count() const { return {double(Read.size()), double(Written.size()), double(Touched.size()), BlockSum}; }

private:
  const ptx::Function &F;
  uint64_t GranuleSectors;
  NumberMap Read, Written, Touched, InBlock;
  double BlockSum = 0; ///< granules, distinct within each block
};

struct Streams {
  double ReadBytes = 0, WriteBytes = 0; ///< per warp
  double Bytes = 0;                     ///< of both, what is read and written counted once
  double Sharing = 1;                   ///< blocks that read one granule
};

/// Sectors that one warp asks for within \p Limits.
double sectorsPerWarp(const Sample &S, const ptx::ExecuteLimits &Limits) {
  double Sectors = 0;
  for (const AccessProfile &P : S.PerInstruction)
    Sectors += P.Requests * P.Sectors / S.Footprints.size();
  return S.RequestsPerWarp > 0 ? Sectors * std::min(1.0, double(Limits.MaxRequests) / S.RequestsPerWarp) : 0;
}

/// Neighbouring blocks to look at: as many as the simulation of one SM costs, but four.
unsigned mostNeighbours(const Sample &S, unsigned WarpsPerBlock, const ptx::ExecuteLimits &Limits) {
  constexpr double Budget = 16000; // sectors
  double Affordable = Budget / std::max(1.0, sectorsPerWarp(S, Limits) * WarpsPerBlock);
  return unsigned(std::clamp(std::min(Affordable, 128.0 / WarpsPerBlock), 4.0, 16.0));
}

Streams neighbourStreams(const ptx::Function &F, const WarpRunner &Runner, const Sample &Sampled, const Gpu &G,
                         const ptx::ExecuteLimits &Limits) {
  uint64_t Blocks = Runner.blocks();
  unsigned Warps = Runner.warpsPerBlock(), Most = mostNeighbours(Sampled, Warps, Limits);
  unsigned Count = std::min<uint64_t>(Most, Blocks);
  uint64_t First = std::min(Blocks / 2, Blocks - Count);
  Neighbours N(F, G);
  Neighbours::Count Half;
  unsigned HalfBlocks = Count < Most ? 0 : Count / 2;
  std::vector<uint64_t> Run(Count);
  std::iota(Run.begin(), Run.end(), First);
  std::vector<WarpFootprint> All = Runner.footprints(Run, Limits, WarpRunner::Touched::Regular);
  for (unsigned B = 0; B < Count; ++B) {
    if (B == HalfBlocks)
      Half = N.count();
    for (unsigned W = 0; W < Warps; ++W)
      N.add(All[B * Warps + W]);
    N.endBlock();
  }
  Neighbours::Count Whole = N.count();
  double Counted = double(Count - HalfBlocks) * Warps;
  Streams S;
  double Granules = Whole.Read - Half.Read;
  S.ReadBytes = Granules * G.DramGranule / Counted;
  S.WriteBytes = (Whole.Written - Half.Written) * SectorBytes / Counted;
  S.Bytes = (Whole.Touched - Half.Touched) * G.DramGranule / Counted;
  S.Sharing = Granules > 0 ? std::max(1.0, (Whole.BlockSum - Half.BlockSum) / Granules) : 1;
  return S;
}

/// Fields of one element, and of one tile, are translated together: sectors that hold them.
constexpr uint64_t PartSectors = 512;

/// Random accesses of the sampled warps, averaged.
void randomAccesses(const ptx::Function &F, const Sample &S, const Gpu &G, DramTraffic &D) {
  uint64_t GranuleSectors = std::max(1.0, G.DramGranule / SectorBytes);
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
        D.StoreSectors += Scale;
        if (!I.isStore())
          continue;
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

/// Sectors per warp that random loads do not find in L1.
double randomMisses(const Sample &S, const Reuse &L1) {
  double Sum = 0;
  for (auto [I, A] : enumerate(L1.PerInstruction))
    if (S.PerInstruction[I].Random && A.Requests)
      Sum += S.weight(I) * A.MissSectors / A.Requests;
  return Sum;
}

} // namespace

DramTraffic dramTraffic(const ptx::Function &F, const WarpRunner &Runner, const Sample &S, const Reuse &L1,
                        const Gpu &G, const ptx::LaunchFacts &Facts, double KnownFootprint,
                        const ptx::ExecuteLimits &Limits) {
  DramTraffic D;
  const bool Cut = S.Cut || S.RequestsPerWarp > Limits.MaxRequests; // what is touched in all is not seen
  uint64_t Blocks = Runner.blocks();
  unsigned LastWarp = Runner.warpsPerBlock() - 1;
  double Warps = double(Blocks) * Runner.warpsPerBlock();

  Ranges Reads(F), Writes(F), Regular(F);
  RandomLines Random;
  for (uint64_t Block : {uint64_t(0), Blocks / 3, Blocks - 1})
    for (unsigned Warp : {0u, LastWarp}) {
      WarpFootprint W = Runner.footprint(Runner.run(Block, Warp, Limits), Block, Warp);
      Reads.add(W, [](const ptx::Instruction &I) { return !I.isStore(); });
      Writes.add(W, [](const ptx::Instruction &I) { return I.isStore(); });
      Regular.add(W, [](const ptx::Instruction &) { return true; });
      Random.add(W);
    }
  D.Resident = Regular.bytes() < G.L2ResidentBytes;
  if (D.Resident) {
    D.ReadBytes = Reads.bytes() / Warps;
    D.WriteBytes = Writes.bytes() / Warps;
  } else {
    Streams Near = neighbourStreams(F, Runner, S, G, Limits);
    D.ReadBytes = Near.ReadBytes;
    D.WriteBytes = Near.WriteBytes;
    // Of records that are not read whole, what lies between is no part of it.
    D.Resident = !Cut && Near.Bytes * Warps < G.L2ResidentBytes;
    if (!D.Resident) {
      double Refetched = 0, Rewritten = 0; // bytes per warp that this SM's share of L2 did not keep
      for (auto [I, A] : enumerate(L1.PerInstruction))
        if (A.Requests) {
          Refetched += A.MissGranules / A.Requests * S.weight(I) * G.DramGranule;
          Rewritten += A.DirtiedSectors / A.Requests * S.weight(I) * SectorBytes;
        }
      Refetched /= Near.Sharing;
      if (Cut) {
        D.ReadBytes = Refetched;
        D.WriteBytes = std::max(Near.WriteBytes, Rewritten);
      } else {
        D.ReadBytes = std::max(Near.ReadBytes, Refetched);
        // A row that another block reads too is still there if all that is read and written meanwhile fits.
        double All = Reads.bytes(), OfWarp = Reads.bytesOfWarp();
        if (OfWarp < All / 4 && OfWarp / All * (All + Writes.bytes()) < G.L2ResidentBytes)
          D.ReadBytes = std::min(D.ReadBytes, All / Warps);
      }
    }
  }

  randomAccesses(F, S, G, D);
  double Missed = randomMisses(S, L1);
  if (Missed < D.LoadSectors) { // a small table that L1 holds
    D.LoadGranules *= Missed / D.LoadSectors;
    D.LoadSectors = Missed;
  }
  double Range = Random.bytes();
  // Touched granules of the whole array: of each element as much as a lane touches.
  double PerElement = std::max(D.LoadGranules, D.DirtyGranules) * G.DramGranule / WarpLanes;
  if (PerElement > 0)
    Range = std::min(Range, PerElement * Facts.Elements);
  if (KnownFootprint > 0)
    Range = std::min(Range, KnownFootprint);
  D.MissShare = Range > G.L2RandomBytes ? 1 - G.L2RandomBytes / Range : 0;
  double Span = Random.span();
  D.Translations *= Span > G.TlbBytes ? 1 - G.TlbBytes / Span : 0;
  return D;
}

} // namespace restride::cost
