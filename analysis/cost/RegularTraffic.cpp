#include "analysis/cost/RegularTraffic.h"

#include "analysis/cost/DramRows.h"
#include "analysis/cost/NumberMap.h"
#include "analysis/cost/SharedL2.h"
#include "analysis/cost/SortedNumbers.h"
#include "analysis/cost/WriteBacks.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

using namespace llvm;

namespace restride::cost {

void Ranges::add(const WarpFootprint &W, ArrayRef<Reach> Unseen, function_ref<bool(const ptx::Instruction &)> Counts) {
  std::map<uint64_t, Range> Own; // by pointer
  for (const RequestFootprint &R : W.Requests)
    if (R.Count && !R.Random && !R.Local && Counts(F.Body[R.Instruction])) {
      uint64_t Low = W.Touches[R.First].Sector, High = W.Touches[R.First + R.Count - 1].Sector + 1;
      auto widen = [&](Range &In, double Below, double Above) {
        In = {std::min(In.Low, Low - std::min(Low, uint64_t(Below / SectorBytes))),
              std::max(In.High, High + uint64_t(Above / SectorBytes))};
      };
      const Reach Rest = Unseen[R.Instruction];
      widen(Of[R.Instruction], Rest.Below, Rest.Above);
      widen(Own[pointerTo(Low)], 0, 0);
    }
  double Span = 0;
  for (auto [Pointer, In] : Own)
    Span += double(In.High - In.Low) * SectorBytes;
  Spans.push_back(Span);
}

double Ranges::bytes() const {
  double Sum = 0;
  for (auto [Pointer, Bytes] : bytesByPointer())
    Sum += Bytes;
  return Sum;
}

std::map<uint64_t, double> Ranges::bytesByPointer() const {
  std::vector<Range> Sorted = Of;
  llvm::sort(Sorted);
  std::map<uint64_t, double> Out;
  uint64_t End = 0;
  for (auto [Low, High] : Sorted)
    if (High > Low && High > End) {
      Out[pointerTo(Low)] += double(High - std::max(Low, End)) * SectorBytes;
      End = High;
    }
  return Out;
}

uint64_t Ranges::pointerOf(unsigned I) const { return Of[I].High ? pointerTo(Of[I].Low) : 0; }

double Ranges::bytesOfWarp() const {
  std::vector<double> Sorted = Spans;
  llvm::sort(Sorted);
  return Sorted.empty() ? 0 : Sorted[Sorted.size() / 2];
}

void TouchedRanges::add(const WarpFootprint &W, ArrayRef<Reach> Unseen) {
  Reads.add(W, Unseen, [](const ptx::Instruction &I) { return !I.isStore(); });
  Writes.add(W, Unseen, [](const ptx::Instruction &I) { return I.isStore(); });
  All.add(W, Unseen, [](const ptx::Instruction &) { return true; });
}

namespace {

/// Distinct granules, sectors and lines of a run of neighbouring blocks. The growth
/// over its second half leaves out what the edges of the run add.
class Neighbours {
public:
  Neighbours(const ptx::Function &F, const Gpu &G) : F(F), GranuleSectors(granuleSectors(G)) {}

  void add(const WarpFootprint &W) {
    DenseMap<unsigned, std::pair<uint64_t, uint64_t>> Before; // of an instruction: the sectors of its request before
    for (const RequestFootprint &R : W.Requests) {
      const ptx::Instruction &I = F.Body[R.Instruction];
      if (R.Random || R.Local || !R.Count || !(I.isLoad() || I.isStore()))
        continue;
      const uint64_t Low = W.touches(R).front().Sector, High = W.touches(R).back().Sector;
      if (auto [At, New] = Before.try_emplace(R.Instruction, Low, High); !New) {
        ++(Low > At->second.second || High < At->second.first ? Jumps : Steps);
        At->second = {Low, High};
      }
      for (const SectorTouch &T : W.touches(R)) {
        const uint64_t Granule = T.Sector / GranuleSectors;
        if (Lines.insert(lineOf(T.Sector)))
          AllLines.push_back(lineOf(T.Sector));
        if (I.isStore())
          Written[T.Sector] |= T.Bytes;
        else if (InBlock.insert(Granule))
          Read.insert(Granule);
      }
    }
  }
  void endBlock() {
    BlockSum += InBlock.size();
    InBlock.clear();
    LinesBefore = std::exchange(LinesSoFar, AllLines.size());
  }

  struct Count {
    double Read = 0, Written = 0, Filled = 0, Lines = 0, BlockSum = 0;
  };
  Count count() const {
    const auto Filled = count_if(Written, [&](const auto &Sector) {
      return Sector.second != ~0u && !Read.contains(Sector.first / GranuleSectors);
    });
    return {double(Read.size()), double(Written.size()), double(Filled), double(Lines.size()), BlockSum};
  }

  /// Of the lines in the ranges that loops go through in jumps of more than a warp's span, as with the grid's size; 1
  /// where threads walk on through what lies between, or the last block has some of it: as with rows that blocks share.
  double touchedShare() const {
    if (!Jumps || Steps)
      return 1;
    constexpr uint64_t Jump = 256; // lines
    std::vector<uint64_t> Before(AllLines.begin(), AllLines.begin() + LinesBefore);
    sortOnce(Before);
    double Touched = 0, Passed = 0;
    for (size_t I = 1; I < Before.size(); ++I)
      if (const uint64_t Gap = Before[I] - Before[I - 1]; Gap < Jump)
        ++Touched, Passed += double(Gap);
    auto liesBetween = [&](uint64_t Line) {
      const auto After = llvm::upper_bound(Before, Line);
      return After != Before.begin() && After != Before.end() && *After - *std::prev(After) < Jump;
    };
    const bool Shared = any_of(ArrayRef(AllLines).drop_front(LinesBefore), liesBetween);
    return Passed > 0 && !Shared ? Touched / Passed : 1;
  }

  /// Arrays, or parts of them, that lie too far apart to share DRAM rows that are open at a time.
  double regions() const {
    constexpr uint64_t Apart = (1 << 20) / LineBytes;
    std::vector<uint64_t> Sorted = AllLines;
    sortOnce(Sorted);
    double Count = Sorted.empty() ? 0 : 1;
    for (size_t I = 1; I < Sorted.size(); ++I)
      Count += Sorted[I] - Sorted[I - 1] > Apart;
    return Count;
  }

private:
  const ptx::Function &F;
  uint64_t GranuleSectors;
  unsigned Jumps = 0, Steps = 0; ///< of an instruction from trip to trip: beyond what its warp asked for, or not
  NumberMap Read, Lines, InBlock;
  std::vector<uint64_t> AllLines; ///< as in Lines, block by block
  size_t LinesBefore = 0, LinesSoFar = 0; ///< of AllLines: those of all blocks but the last, and of all
  DenseMap<uint64_t, uint32_t> Written; ///< sector: bytes
  double BlockSum = 0; ///< granules, distinct within each block
};

struct Streams {
  double ReadBytes = 0, WriteBytes = 0; ///< per warp
  double FillShare = 0;                 ///< of the written bytes: in sectors that are written in part, and not read
  double LineBytes = 0;                 ///< of the lines of both
  double TouchedShare = 1;              ///< of the lines between the first and the last
  double Regions = 1;                   ///< that lie far apart
  double Sharing = 1;                   ///< blocks that read one granule
  DenseMap<unsigned, double> Scattered; ///< by instruction, see RowScatter
  DenseMap<unsigned, double> WriteCycles; ///< by instruction, see WriteBacks
};

/// Sectors that one warp asks for within \p Limits.
double sectorsPerWarp(const Sample &S, const ptx::ExecuteLimits &Limits) {
  double Sectors = 0;
  for (const AccessProfile &P : S.PerInstruction)
    Sectors += P.Requests * P.Sectors / S.Footprints.size();
  return S.RequestsPerWarp > 0 ? Sectors * std::min(1.0, double(Limits.MaxRequests) / S.RequestsPerWarp) : 0;
}

/// Neighbouring blocks to look at: as many as the simulation of one SM costs, but two.
unsigned mostNeighbours(const Sample &S, unsigned WarpsPerBlock, const ptx::ExecuteLimits &Limits) {
  constexpr double Budget = 6000; // sectors
  double Affordable = Budget / std::max(1.0, sectorsPerWarp(S, Limits) * WarpsPerBlock);
  return unsigned(std::clamp(std::min(Affordable, 128.0 / WarpsPerBlock), 2.0, 16.0));
}

Streams neighbourStreams(const ptx::Function &F, const WarpRunner &Runner, const Sample &Sampled, const Gpu &G,
                         const ptx::ExecuteLimits &Limits) {
  uint64_t Blocks = Runner.blocks();
  unsigned Warps = Runner.warpsPerBlock(), Most = mostNeighbours(Sampled, Warps, Limits);
  unsigned Count = std::min<uint64_t>(Most, Blocks);
  uint64_t First = std::min(Blocks / 2, Blocks - Count);
  Neighbours N(F, G);
  RowScatter Apart(G);
  WriteBacks Written(F, G);
  Neighbours::Count Half;
  unsigned HalfBlocks = Count < Most ? 0 : Count / 2;
  std::vector<uint64_t> Run(Count);
  std::iota(Run.begin(), Run.end(), First);
  std::vector<WarpFootprint> All = Runner.footprints(Run, Limits, WarpRunner::Touched::Regular);
  for (unsigned B = 0; B < Count; ++B) {
    if (B == HalfBlocks)
      Half = N.count();
    for (unsigned W = 0; W < Warps; ++W) {
      N.add(All[B * Warps + W]);
      Apart.add(All[B * Warps + W]);
      Written.add(All[B * Warps + W]);
    }
    N.endBlock();
  }
  Neighbours::Count Whole = N.count();
  double Counted = double(Count - HalfBlocks) * Warps;
  Streams S;
  double Granules = Whole.Read - Half.Read;
  S.ReadBytes = Granules * G.DramGranule / Counted;
  S.WriteBytes = (Whole.Written - Half.Written) * SectorBytes / Counted;
  // Later blocks may complete what the edge of the first half left.
  S.FillShare = std::max(0.0, Whole.Filled - Half.Filled) / std::max(1.0, Whole.Written - Half.Written);
  S.LineBytes = (Whole.Lines - Half.Lines) * LineBytes / Counted;
  S.TouchedShare = N.touchedShare();
  S.Regions = N.regions();
  S.Sharing = Granules > 0 ? std::max(1.0, (Whole.BlockSum - Half.BlockSum) / Granules) : 1;
  S.Scattered = Apart.take();
  S.WriteCycles = Written.take();
  return S;
}

/// Granules that \p W is the first of its requests to load, by instruction and request, for all of a warp's requests.
double newGranules(const ptx::Function &F, const Sample &S, const WarpFootprint &W, const Gpu &G) {
  NumberMap Seen;
  DenseMap<unsigned, std::pair<double, double>> NewOf; // of an instruction: granules, requests
  for (const RequestFootprint &R : W.Requests) {
    if (R.Random || R.Local || !F.Body[R.Instruction].isLoad())
      continue;
    auto &[New, Requests] = NewOf[R.Instruction];
    for (const SectorTouch &T : W.touches(R))
      New += Seen.insert(T.Sector / granuleSectors(G));
    ++Requests;
  }
  double Sum = 0;
  for (auto [I, Count] : NewOf)
    Sum += Count.first / Count.second * S.weight(I);
  return Sum;
}

/// Later trips of a loop may find what its first ones fetched. How much of what the simulation saw fetched, and
/// fetched for the first time, is also fetched for the first time in all that was sampled of a warp.
double fetchedLater(const ptx::Function &F, const WarpRunner &Runner, const Sample &S, const Reuse &L1, const Gpu &G) {
  double Missed = 0;
  for (auto [I, A] : enumerate(L1.PerInstruction))
    if (A.Requests)
      Missed += A.MissGranules / A.Requests * S.weight(I);
  const auto [Block, Warp] = middleWarp(Runner);
  const double First = newGranules(F, S, Runner.footprint(Block, Warp, L1.Limits), G);
  if (First == 0 || Missed == 0)
    return 1;
  const double Rate = std::min(1.0, newGranules(F, S, S.Footprints.front(), G) / First);
  return std::lerp(1, Rate, std::min(1.0, First / Missed));
}

} // namespace

/// Share of \p Bytes, of 128-byte lines that are gone through again and again, which L2 does not hold any more. With
/// lines in every seventh place an H200 misses 0.12, 0.45 and 0.9 of them at 0.7, 0.95 and 1.3 of the capacity.
static double missShare(double Bytes, double Capacity) {
  constexpr double Steepness = 7;
  return Bytes > 0 ? 1 / (1 + std::pow(Capacity / Bytes, Steepness)) : 0;
}

RegularTraffic regularTraffic(const ptx::Function &F, const WarpRunner &Runner, const Sample &S, const Reuse &L1,
                              const Gpu &G, const TouchedRanges &Touched, double Launches,
                              const ptx::ExecuteLimits &Limits) {
  const bool Cut = S.Cut || S.RequestsPerWarp > Limits.MaxRequests; // what is touched in all is not seen
  const double Warps = double(Runner.blocks()) * Runner.warpsPerBlock();
  const double AllRead = Touched.Reads.bytes(), AllWritten = Touched.Writes.bytes();
  RegularTraffic Out;
  double Once = AllRead / Warps, OnceWritten = AllWritten / Warps, Lines = Touched.All.bytes();
  Out.MissShare = missShare(Lines, G.L2ResidentBytes);
  constexpr double Negligible = 0.01;
  double Again = Once, AgainWritten = OnceWritten;
  if (Out.MissShare > Negligible) {
    Streams Near = neighbourStreams(F, Runner, S, G, Limits);
    Out.Regions = Near.Regions;
    if (!Cut) {
      // Of records that are not read whole, what lies between is no part of it.
      Lines = std::min(Lines, Near.LineBytes * Warps);
      Once = std::min(Once, Near.ReadBytes);
      OnceWritten = std::min(OnceWritten, Near.WriteBytes);
    } else {
      Lines *= Near.TouchedShare;
      Once *= Near.TouchedShare;
    }
    Out.MissShare = missShare(Lines, G.L2ResidentBytes);
    double Refetched = 0, Rewritten = 0; // bytes per warp that this SM's share of L2 did not keep
    std::map<uint64_t, AskedOfL2> Arrays; // of the launch, by pointer
    for (auto [Pointer, Bytes] : Touched.Reads.bytesByPointer())
      Arrays[Pointer].Bytes = Bytes;
    for (auto [I, A] : enumerate(L1.PerInstruction))
      if (A.Requests) {
        const double Read = A.MissGranules / A.Requests * S.weight(I) * G.DramGranule;
        const double Written = A.DirtiedSectors / A.Requests * S.weight(I) * SectorBytes;
        const double Alone = Near.Scattered.lookup(I);
        Refetched += Read;
        if (auto At = Arrays.find(Touched.Reads.pointerOf(I)); At != Arrays.end()) {
          const double PerGranule = S.weight(I) * G.DramGranule / A.Requests / Near.Sharing * Warps;
          At->second.Asked += PerGranule * A.FirstGranules;
          At->second.Again += PerGranule * (A.MissGranules - A.FirstGranules);
        }
        Rewritten += Written;
        Out.ReadScatter += Read * Alone;
        Out.SectorWriteCycles += Written * Near.WriteCycles.lookup(I);
      }
    Out.ReadScatter /= std::max(1.0, Refetched);
    Out.SectorWriteCycles = Rewritten > 0 ? Out.SectorWriteCycles / Rewritten : 0;
    Refetched /= Near.Sharing;
    const auto Each = map_to_vector(Arrays, [](const auto &A) { return A.second; });
    const double Shared = fetchedByL2(Each, AllWritten, L1.AtATime, G.L2ResidentBytes) / Warps;
    AgainWritten = Near.WriteBytes;
    Out.FillShare = Near.FillShare;
    if (Cut) {
      Again = Refetched * fetchedLater(F, Runner, S, L1, G);
      AgainWritten = std::max(AgainWritten, Rewritten);
    } else {
      Again = std::max(Near.ReadBytes, Refetched);
      // A row that another block reads too is still there if all that is read and written meanwhile fits.
      double OfWarp = Touched.Reads.bytesOfWarp();
      if (OfWarp < AllRead / 4 && OfWarp / AllRead * (AllRead + AllWritten) < G.L2ResidentBytes)
        Again = std::min(Again, AllRead / Warps);
    }
    Again = std::min(Again, Shared);
  }
  // What is written leaves L2 earlier than what is read: two thirds of the capacity may wait for that.
  const double MissWritten = std::max(Out.MissShare, missShare(1.5 * OnceWritten * Warps, G.L2ResidentBytes));
  auto mean = [&](double First, double Each, double Miss) { return (1 - Miss) * First / Launches + Miss * Each; };
  Out.ReadBytes = mean(Once, Again, Out.MissShare);
  Out.WriteBytes = mean(OnceWritten, AgainWritten, MissWritten);
  return Out;
}

} // namespace restride::cost
