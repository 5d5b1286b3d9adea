#include "analysis/cost/Reuse.h"

#include "analysis/cost/CriticalPath.h"
#include "analysis/cost/DramRows.h"
#include "analysis/cost/NumberMap.h"
#include "analysis/cost/SectorCache.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace restride::cost {

/// Of a warp, that are worth looking at.
static constexpr unsigned MostRequests = 3000;

namespace {

/// How long the bursts of one block are waited for.
struct BlockWaits {
  double Cycles = 0;
  DenseMap<unsigned, std::array<double, 4>> ByInstruction;
  DenseMap<unsigned, double> Spread; ///< by instruction, see AccessReuse
};

struct Store {
  unsigned Instruction, Packets;
  ArrayRef<SectorTouch> Touches;
};

/// A line that is fetched.
struct Fill {
  unsigned Load; ///< instruction
  uint64_t Line;
  Wait For;
};

class Sm {
public:
  /// \p Part: of the SM that is simulated.
  Sm(const ptx::Function &F, const Sample &S, const Gpu &G, double Part)
      : F(F), S(S), Order(issueOrder(F, S.Flow)), G(G), Part(Part), GranuleSectors(granuleSectors(G)),
        L1(std::max(1.0, Part * G.L1Bytes / LineBytes), LineBytes / SectorBytes),
        L2(std::max(1.0, Part * G.L2Bytes / G.Sms / LineBytes), std::max(1u, unsigned(LineBytes / G.DramGranule))) {
    Out.PerInstruction.resize(F.Body.size());
  }

  /// Runs \p Warps round-robin until all are done.
  void generation(ArrayRef<WarpFootprint> Warps, unsigned WarpsPerBlock) {
    for (AccessReuse &A : Out.PerInstruction)
      A = {};
    std::vector<size_t> Next(Warps.size(), 0);
    std::vector<BlockWaits> Blocks(Warps.size() / WarpsPerBlock + 1);
    Late.assign(Warps.size(), {});
    size_t Left = llvm::count_if(Warps, [](const WarpFootprint &W) { return !W.Requests.empty(); }), Turn = 0;
    while (Left) {
      double Busy = 0, Time = 0; // cycles of the L1 pipe in this turn, and until its loads are there
      for (size_t W = 0; W < Warps.size(); ++W) {
        size_t Count = Warps[W].Requests.size();
        if (Next[W] >= Count || Turn < G.BlockStagger * stagger(W / WarpsPerBlock) * Count / G.WarpBurst)
          continue;
        // By then the oldest warps of each scheduler go on, before younger ones had their turn.
        if (Busy > Part * G.Schedulers * std::max(Time, G.L1Latency))
          break;
        Busy += burst(Warps[W], Next[W], Blocks[W / WarpsPerBlock], Late[W]);
        Time = std::max(Time, latency(Farthest));
        Left -= Next[W] >= Count;
      }
      // A warp's next burst comes when this one has been served.
      Asked.clear();
      Fetched.clear();
      ++Turn;
    }
    const BlockWaits &Slowest =
        *llvm::max_element(Blocks, [](const BlockWaits &A, const BlockWaits &B) { return A.Cycles < B.Cycles; });
    for (const auto &[I, Waits] : Slowest.ByInstruction)
      Out.PerInstruction[I].Waits = Waits;
    for (const auto &[I, Spread] : Slowest.Spread)
      Out.PerInstruction[I].Spread = Spread;
  }

  Reuse take() { return std::move(Out); }

private:
  /// In [0, 1), fixed per block.
  static double stagger(uint64_t Block) { return scattered(Block) % 1024 / 1024.0; }

  double latency(Wait For) const {
    return For == Wait::L1 ? G.L1Latency : For == Wait::L2 ? G.L2Latency : G.DramLatency;
  }

  /// What a warp issues before the next warp's turn: up to what has to wait.
  /// Returns the cycles of the L1 pipe that it takes.
  /// \p Late: stores of its burst before, behind loads of this one; becomes those of this one.
  double burst(const WarpFootprint &W, size_t &Next, BlockWaits &Block, std::vector<Store> &Late) {
    unsigned Last = 0;
    Stores.clear();
    Loads.clear();
    Filling.clear();
    Granules.clear();
    Farthest = Wait::L1;
    double Busy = 0;
    for (unsigned K = 0; K < G.WarpBurst && Next < W.Requests.size(); ++K) {
      const RequestFootprint &R = W.Requests[Next];
      if (K && !Order.together(Last, R.Instruction))
        break;
      Last = R.Instruction;
      ++Next;
      request(R, W.touches(R));
      const AccessProfile &P = S.PerInstruction[R.Instruction];
      Busy += std::max(P.TagPasses, P.BankCycles);
    }
    sendStores();
    countConflicts(Late);
    const double Spread = Farthest >= Wait::Dram ? spread() : 0;
    for (unsigned I : Loads) {
      ++Block.ByInstruction[I][unsigned(Farthest)];
      if (Spread > 0)
        Block.Spread[I] += Spread;
    }
    if (!Loads.empty())
      Block.Cycles += latency(Farthest);
    return Busy;
  }

  void request(const RequestFootprint &R, ArrayRef<SectorTouch> Touches) {
    const ptx::Instruction &I = F.Body[R.Instruction];
    AccessReuse &A = Out.PerInstruction[R.Instruction];
    ++A.Requests;
    if (I.isStore()) { // written through, and kept
      for (const SectorTouch &T : Touches)
        L1.touch(T.Sector);
      if (!R.Random && !R.Local)
        A.DirtiedSectors += dirtiedSectors(Touches);
      if (!R.Local) // L1 holds local memory back until a line leaves
        Stores.push_back({R.Instruction, packetsOf(Touches), Touches});
      return;
    }
    if (!I.isLoad()) { // atomics are done in L2, and say which bytes they mean
      const double Packets = double(Touches.size()) * 1.25; // 42 cycles of 16 sectors in 4 lines, 83 of 32 in 8 or 32
      A.Packets += Packets;
      A.BusyPackets += Packets;
      return;
    }
    bool MissedL1 = false, MissedL2 = false;
    auto wait = [&](Wait For) { Farthest = std::max(Farthest, For); };
    Wait Far = R.Random ? Wait::RandomDram : Wait::Dram;
    uint64_t Line = ~0ull; // that L2 was asked for last
    for (const SectorTouch &T : Touches) {
      if (L1.touch(T.Sector)) {
        if (const uint8_t *For = Asked.find(T.Sector))
          wait(Wait(*For));
        continue;
      }
      MissedL1 = true;
      ++A.MissSectors;
      if (lineOf(T.Sector) != Line)
        Line = lineOf(T.Sector), ++A.MissLines;
      uint64_t Granule = T.Sector / GranuleSectors;
      bool InL2 = L2.touch(Granule);
      if (!InL2)
        Fetched.insert(Granule);
      Wait For = Fetched.contains(Granule) ? Far : Wait::L2;
      Asked.insert(T.Sector, uint8_t(For));
      wait(For);
      if (!R.Local)
        Filling.push_back({R.Instruction, lineOf(T.Sector), For});
      if (InL2)
        continue;
      MissedL2 = true;
      Granules.push_back(Granule);
      if (!R.Random && !R.Local)
        ++A.MissGranules;
    }
    ++(MissedL2 ? A.HitDram : MissedL1 ? A.HitL2 : A.HitL1);
    Loads.push_back(R.Instruction);
  }

  /// Writes \p Touches to L2. Returns the sectors in granules that it did not hold as written.
  unsigned dirtiedSectors(ArrayRef<SectorTouch> Touches) {
    unsigned Count = 0;
    uint64_t Dirtied = ~0ull; // granule
    for (const SectorTouch &T : Touches) {
      const uint64_t Granule = T.Sector / GranuleSectors;
      if (!L2.write(Granule))
        Dirtied = Granule;
      Count += Granule == Dirtied;
    }
    return Count;
  }

  /// The packets of this burst's stores. Those to one line become one, if the lines that wait for others fit: of
  /// one warp, or of one of each scheduler where the port to L2 is busy, and then more and more are sent before.
  void sendStores() {
    if (Stores.empty())
      return;
    double Lines = 0, Alone = 0;
    SectorTouches All;
    for (const Store &S : Stores) {
      Lines += linesOf(S.Touches);
      Alone += S.Packets;
      append_range(All, S.Touches);
    }
    joinSectors(All);
    const double Merged = packetsOf(All) / Alone, Full = Lines / Stores.size() / G.StoreMergeLines;
    auto share = [&](double Apart) { return Apart + (1 - Apart) * Merged; };
    const double Idle = share(Full > 1 ? 1 : 0);
    const double Busy = share(std::clamp((Full * G.Schedulers - MergeAll) / MergeRange, 0.0, 1.0));
    for (const Store &S : Stores) {
      AccessReuse &A = Out.PerInstruction[S.Instruction];
      A.Packets += S.Packets * Idle;
      A.BusyPackets += S.Packets * Busy;
    }
  }

  /// Standard deviations by which the last of this burst's DRAM rows is expected to come later than the mean.
  double spread() {
    llvm::sort(Granules);
    double Rows = 1;
    for (size_t I = 1; I < Granules.size(); ++I)
      if (Granules[I] > Granules[I - 1])
        Rows += aloneInRow(double(Granules[I] - Granules[I - 1] - 1) * G.DramGranule);
    return 0.77 * std::pow(std::log(Rows), 0.8); // close to the expected largest of so many normal numbers
  }

  /// Stores to lines that loads before them are fetching.
  void countConflicts(std::vector<Store> &Late) {
    Awaited.clear();
    for (const Store &S : Late) {
      ArrayRef<unsigned> Before = Order.LateLoads.find(S.Instruction)->second;
      count(S, LateConflict, [&](const Fill &F) { return is_contained(Before, F.Load); });
    }
    Late.clear();
    for (const Store &S : Stores)
      if (!Order.Waits[S.Instruction])
        count(S, 1, [](const Fill &) { return true; });
      else if (Order.LateLoads.contains(S.Instruction))
        Late.push_back(S);
  }

  void count(const Store &S, double Weight, function_ref<bool(const Fill &)> IsBefore) {
    if (Filling.empty())
      return;
    AccessReuse &A = Out.PerInstruction[S.Instruction];
    Lines.clear();
    for (const Fill &F : Filling)
      if (F.For != Wait::RandomDram && !Awaited.contains(F.Line) && IsBefore(F))
        if (const uint8_t *Other = Lines.find(F.Line); !Other || *Other < uint8_t(F.For))
          Lines.insert(F.Line, uint8_t(F.For));
    for (const SectorTouch &T : S.Touches)
      if (const uint8_t *For = Lines.find(lineOf(T.Sector))) {
        (Wait(*For) == Wait::Dram ? A.ConflictSectors : A.NearConflictSectors) += Weight * conflict(T, Wait(*For));
        Awaited.insert(lineOf(T.Sector));
      }
  }

  /// What a sector counts in a conflict. With lines from DRAM, one of which 4, 16 and 32 bytes were written took 16, 25
  /// and 57 cycles of an SM; with lines from L2 1 to 4 if it was written in part and 10 to 50 as a whole.
  static double conflict(const SectorTouch &T, Wait For) {
    constexpr double Whole = 3.5, PerByte = 0.05, NearWhole = 1.5, NearPart = 0.15;
    if (For != Wait::Dram)
      return T.whole() ? NearWhole : NearPart;
    return T.whole() ? Whole : 1 + PerByte * (popcount(T.Bytes) - 4.0);
  }

  /// Of stores whose warp has just asked for the line: 25 cycles for a sector of which 4 bytes were written.
  static constexpr double LateConflict = 1.6;

  /// Lines over StoreMergeLines from which some stores are not merged, and the range in which all of them cease to be:
  /// warps that store records of 16, 20, 24, 28 and 32 bytes word by word, and nothing else, send 0.1, 0.35, 0.5, 0.75
  /// and 0.9 of their words alone.
  static constexpr double MergeAll = 0.58, MergeRange = 0.75;

  const ptx::Function &F;
  const Sample &S;
  IssueOrder Order;
  const Gpu &G;
  const double Part;
  uint64_t GranuleSectors;
  SectorCache L1, L2;
  std::vector<Store> Stores; ///< of this burst
  NumberMap Asked;   ///< sectors that were missed in this turn, and the Wait for them
  NumberMap Fetched; ///< granules that DRAM was asked for in this turn
  std::vector<Fill> Filling; ///< by loads of this burst
  std::vector<uint64_t> Granules; ///< that this burst asks DRAM for
  NumberMap Lines;   ///< of these, and the Wait for them
  NumberMap Awaited; ///< those that a store has waited for: later ones find them
  std::vector<std::vector<Store>> Late; ///< by warp: of its last burst, behind loads of its next one
  std::vector<unsigned> Loads; ///< of this burst
  Wait Farthest = Wait::L1;    ///< that they wait for
  Reuse Out;
};

/// Bytes of the lines that loads of \p Warps touch in all trips of their loops.
double loadedBytes(const ptx::Function &F, const Sample &S, ArrayRef<WarpFootprint> Warps) {
  DenseMap<unsigned, double> Requests;
  for (const WarpFootprint &W : Warps)
    for (const RequestFootprint &R : W.Requests)
      ++Requests[R.Instruction];
  DenseMap<uint64_t, double> Lines; // each stands for those of the trips that were not executed
  for (const WarpFootprint &W : Warps)
    for (const RequestFootprint &R : W.Requests)
      if (F.Body[R.Instruction].isLoad())
        for (const SectorTouch &T : W.touches(R)) {
          double &Times = Lines[lineOf(T.Sector)];
          Times = std::max({Times, 1.0, S.weight(R.Instruction) * Warps.size() / Requests[R.Instruction]});
        }
  double Sum = 0;
  for (auto [Line, Times] : Lines)
    Sum += Times;
  return Sum * LineBytes;
}

/// What the loads of \p Resident blocks touch, from two of them: what these have in common all have.
double loadedBytes(const ptx::Function &F, const Sample &S, ArrayRef<WarpFootprint> Two, unsigned Resident) {
  double Both = loadedBytes(F, S, Two), One = loadedBytes(F, S, Two.take_front(Two.size() / 2));
  return One + (Both - One) * (Resident - 1.0);
}

/// Neighbouring warps load next to no line that another one does.
bool loadAlone(const ptx::Function &F, const WarpRunner &Runner, uint64_t Block, const ptx::ExecuteLimits &Limits) {
  constexpr double Few = 0.05;
  DenseSet<uint64_t> Seen;
  size_t Lines = 0;
  auto add = [&](uint64_t Block, unsigned Warp) {
    DenseSet<uint64_t> Own;
    WarpFootprint W = Runner.footprint(Runner.run(Block, Warp, Limits), Block, Warp);
    for (const RequestFootprint &R : W.Requests)
      if (F.Body[R.Instruction].isLoad() && !R.Local)
        for (const SectorTouch &T : W.touches(R))
          Own.insert(lineOf(T.Sector));
    Lines += Own.size();
    Seen.insert(Own.begin(), Own.end());
  };
  add(Block, 0);
  if (Runner.warpsPerBlock() > 1)
    add(Block, 1);
  if (Block + 1 < Runner.blocks())
    add(Block + 1, 0);
  return double(Lines - Seen.size()) < Few * double(Lines);
}

} // namespace

Reuse simulate(const ptx::Function &F, const Sample &Sampled, const WarpRunner &Runner, const Gpu &G,
               unsigned ResidentBlocks, unsigned Generations, const ptx::ExecuteLimits &Limits) {
  uint64_t Sms = std::max<uint64_t>(G.Sms, 1), Blocks = Runner.blocks();
  // The first blocks go to the SMs in turn, each later one to whichever has room.
  bool InTurn = Blocks <= ResidentBlocks * Sms;
  // A quarter into the grid, or earlier where the blocks would reach its end.
  uint64_t Span = (uint64_t(Generations) * ResidentBlocks - 1) * Sms + (InTurn ? 1 : Sms);
  uint64_t Start = Blocks > Span ? std::min(Blocks / 4, Blocks - Span) : 0;
  const unsigned Warps = Runner.warpsPerBlock();
  // Warps that share nothing need not all be there to tell what long loops leave in caches of their part.
  const double All = double(ResidentBlocks) * Warps, Cost = All * Limits.MaxRequests;
  constexpr double FewestWarps = 4;
  const double Some = std::max(FewestWarps, Cost / std::max(1.0, std::min(Sampled.RequestsPerWarp, double(MostRequests))));
  if (Sampled.RequestsPerWarp > Limits.MaxRequests && Some < All && loadAlone(F, Runner, Start, Limits)) {
    ptx::ExecuteLimits Longer = Limits;
    Longer.MaxRequests = uint64_t(Cost / Some);
    std::vector<WarpFootprint> Those;
    for (double At = 0; At < All; At += All / Some) {
      const uint64_t Slot = uint64_t(At) / Warps, Block = (Start + Slot * Sms + (InTurn ? 0 : scattered(Slot + 1) % Sms)) % Blocks;
      const unsigned Warp = uint64_t(At) % Warps;
      Those.push_back(Runner.footprint(Runner.run(Block, Warp, Longer), Block, Warp));
    }
    Sm S(F, Sampled, G, double(Those.size()) / All);
    S.generation(Those, 1);
    Reuse Out = S.take();
    Out.Limits = Longer;
    return Out;
  }
  Sm S(F, Sampled, G, 1);
  // Of a grid of many waves, most blocks find what earlier ones left in L1, if what an SM's blocks load fits.
  if (Generations == 1 && !InTurn) {
    std::vector<WarpFootprint> Earlier = Runner.footprints({Start, Start + 1}, Limits);
    if (loadedBytes(F, Sampled, Earlier, ResidentBlocks) <= G.L1Bytes)
      S.generation(Earlier, Runner.warpsPerBlock());
  }
  for (unsigned Gen = 0; Gen < Generations; ++Gen) {
    std::vector<uint64_t> Resident;
    for (uint64_t K = 0; K < ResidentBlocks; ++K) {
      uint64_t Slot = Gen * ResidentBlocks + K;
      Resident.push_back((Start + Slot * Sms + (InTurn ? 0 : scattered(Slot + 1) % Sms)) % Blocks);
    }
    S.generation(Runner.footprints(Resident, Limits), Runner.warpsPerBlock());
  }
  Reuse Out = S.take();
  Out.Limits = Limits;
  return Out;
}

} // namespace restride::cost
