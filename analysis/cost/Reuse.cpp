#include "analysis/cost/Reuse.h"

#include "analysis/cost/DramRows.h"
#include "analysis/cost/FillConflicts.h"
#include "analysis/cost/NumberMap.h"
#include "analysis/cost/SectorCache.h"
#include "analysis/cost/SharedLines.h"
#include "analysis/cost/StoreOrder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <optional>

using namespace llvm;

namespace restride::cost {

namespace {

/// How long the bursts of one block are waited for.
struct BlockWaits {
  double Cycles = 0;
  DenseMap<unsigned, std::array<double, 4>> ByInstruction;
  DenseMap<unsigned, double> Spread; ///< by instruction, see AccessReuse
};

class Sm {
public:
  /// \p Part: of the SM that is simulated.
  Sm(const ptx::Function &F, const Sample &S, const Gpu &G, double Part)
      : F(F), S(S), Conflicts(S.Order, G), G(G), Part(Part), GranuleSectors(granuleSectors(G)),
        L1(emptyL1()),
        L2(uint64_t(Part * G.L2ResidentBytes / G.Sms / LineBytes), std::max(1u, unsigned(LineBytes / G.DramGranule))) {
    Out.PerInstruction.resize(F.Body.size());
    for (const ptx::Instruction &I : F.Body)
      Splits.push_back((Splits.empty() ? 0 : Splits.back()) + splitsBlock(I));
  }

  /// Runs \p Warps round-robin until all are done.
  void generation(ArrayRef<WarpFootprint> Warps, unsigned WarpsPerBlock) {
    for (AccessReuse &A : Out.PerInstruction)
      A = {};
    Known.clear();
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

  /// A launch finds nothing in L1.
  void launch() { L1 = emptyL1(); }

  Reuse take(const ptx::ExecuteLimits &Limits) {
    if (S.RequestsPerWarp > double(Limits.MaxRequests))
      for (auto [A, P] : zip_equal(Out.PerInstruction, S.PerInstruction))
        scale(A, P.Sectors);
    Out.Limits = Limits;
    return std::move(Out);
  }

private:
  SectorCache emptyL1() const { return SectorCache(uint64_t(Part * G.L1Bytes) / LineBytes, LineBytes / SectorBytes); }

  /// In later trips, which are not simulated, fewer lanes may be left: to \p Sectors of a request in the mean of all.
  static void scale(AccessReuse &A, double Sectors) {
    const double By = A.Sectors > 0 ? std::min(1.0, Sectors * A.Requests / A.Sectors) : 1;
    for (double *Each : {&A.Sectors, &A.MissSectors, &A.MissLines, &A.Packets, &A.BusyPackets, &A.ConflictSectors, &A.NearConflictSectors, &A.MissGranules,
                         &A.FirstGranules, &A.DirtiedSectors})
      *Each *= By;
  }

  /// In [0, 1), fixed per block.
  static double stagger(uint64_t Block) { return scattered(Block) % 1024 / 1024.0; }

  double latency(Wait For) const {
    return For == Wait::L1 ? G.L1Latency : For == Wait::L2 ? G.L2Latency : G.DramLatency;
  }

  /// What a warp issues before the next warp's turn: up to what has to wait.
  /// Returns the cycles of the L1 pipe that it takes.
  /// \p Late: stores of its burst before, behind loads of this one; becomes those of this one.
  double burst(const WarpFootprint &W, size_t &Next, BlockWaits &Block, std::vector<StoreRequest> &Late) {
    unsigned Last = 0;
    Stores.clear();
    Loads.clear();
    Granules.clear();
    Farthest = Wait::L1;
    double Busy = 0;
    for (unsigned K = 0; K < G.WarpBurst && Next < W.Requests.size(); ++K) {
      const RequestFootprint &R = W.Requests[Next];
      if (K && !S.Order.together(Last, R.Instruction))
        break;
      Last = R.Instruction;
      ++Next;
      request(R, W.touches(R));
      const AccessProfile &P = S.PerInstruction[R.Instruction];
      Busy += std::max(P.TagPasses, P.BankCycles);
    }
    sendStores();
    for (const StoreRequest &Now : Stores) // behind the loads of this burst
      if (S.Order.Passed[Now.Instruction])
        keep(Now, false);
    for (const StoreRequest &Before : Late) // behind the loads of this burst
      keep(Before, false);
    Conflicts.endBurst(Stores, Late, Out.PerInstruction);
    if (Next == W.Requests.size())
      for (const StoreRequest &Last : Late) // nothing of this warp comes in front of them
        keep(Last, false);
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

  /// What a store writes is in L1 and L2.
  void keep(const StoreRequest &R, bool Local) {
    for (const SectorTouch &T : R.Touches)
      L1.touch(T.Sector);
    if (!R.Random && !Local)
      Out.PerInstruction[R.Instruction].DirtiedSectors += dirtiedSectors(R.Touches);
  }

  void request(const RequestFootprint &R, ArrayRef<SectorTouch> Touches) {
    const ptx::Instruction &I = F.Body[R.Instruction];
    AccessReuse &A = Out.PerInstruction[R.Instruction];
    ++A.Requests;
    A.Sectors += double(Touches.size());
    if (I.isStore()) { // written through, and kept
      const StoreRequest Now{R.Instruction, packetsOf(Touches), Touches, R.Random};
      if (!R.Local) // L1 holds local memory back until a line leaves
        Stores.push_back(Now);
      if (R.Local || (!S.Order.LateLoads.contains(R.Instruction) && !S.Order.Passed[R.Instruction]))
        keep(Now, R.Local);
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
        Conflicts.fetched(R.Instruction, lineOf(T.Sector), For);
      if (InL2)
        continue;
      MissedL2 = true;
      Granules.push_back(Granule);
      if (!R.Random && !R.Local) {
        ++A.MissGranules;
        A.FirstGranules += Known.insert(Granule);
      }
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
    for (ArrayRef<StoreRequest> Rest = Stores; !Rest.empty();) {
      const auto Same = Rest.take_while([&](const StoreRequest &S) { return Splits[S.Instruction] == Splits[Rest.front().Instruction]; });
      sendTogether(Same);
      Rest = Rest.drop_front(Same.size());
    }
  }

  /// The same of stores with no division between them, which would give those of other warps time to come first.
  void sendTogether(ArrayRef<StoreRequest> Those) {
    double Lines = 0, Alone = 0;
    SectorTouches All;
    for (const StoreRequest &S : Those) {
      Lines += linesOf(S.Touches);
      Alone += S.Packets;
      append_range(All, S.Touches);
    }
    joinSectors(All);
    const double Merged = packetsOf(All) / Alone, Full = Lines / Those.size() / G.StoreMergeLines;
    auto share = [&](double Apart) { return Apart + (1 - Apart) * Merged; };
    const double Idle = share(Full > 1 ? 1 : 0);
    const double Busy = share(std::clamp((Full * G.Schedulers - MergeAll) / MergeRange, 0.0, 1.0));
    for (const StoreRequest &S : Those) {
      AccessReuse &A = Out.PerInstruction[S.Instruction];
      A.Packets += S.Packets * Idle;
      A.BusyPackets += S.Packets * Busy;
    }
  }

  /// Standard deviations by which the last of this burst's DRAM rows is expected to come later than the mean.
  double spread() {
    const double Rows = std::max(1.0, rowsOf(Granules, G));
    return 0.77 * std::pow(std::log(Rows), 0.8); // close to the expected largest of so many normal numbers
  }

  /// Lines over StoreMergeLines from which some stores are not merged, and the range in which all of them cease to be:
  /// warps that store records of 16, 20, 24, 28 and 32 bytes word by word, and nothing else, send 0.1, 0.35, 0.5, 0.75
  /// and 0.9 of their words alone.
  static constexpr double MergeAll = 0.58, MergeRange = 0.75;

  const ptx::Function &F;
  const Sample &S;
  FillConflicts Conflicts;
  const Gpu &G;
  const double Part;
  uint64_t GranuleSectors;
  SectorCache L1, L2;
  std::vector<StoreRequest> Stores; ///< of this burst
  std::vector<unsigned> Splits;     ///< by instruction: divisions and the like until there
  NumberMap Asked;   ///< sectors that were missed in this turn, and the Wait for them
  NumberMap Fetched; ///< granules that DRAM was asked for in this turn
  NumberMap Known;   ///< granules that DRAM was asked for in this generation
  std::vector<uint64_t> Granules; ///< that this burst asks DRAM for
  std::vector<std::vector<StoreRequest>> Late; ///< by warp: of its last burst, behind loads of its next one
  std::vector<unsigned> Loads; ///< of this burst
  Wait Farthest = Wait::L1;    ///< that they wait for
  Reuse Out;
};

/// The blocks that one SM has at a time, out of \p Sms that take blocks in turn.
class ResidentBlocks {
public:
  ResidentBlocks(uint64_t Blocks, unsigned Resident, unsigned Generations, uint64_t Sms)
      : Blocks(Blocks), Sms(Sms), InTurn(Blocks <= Resident * Sms) {
    // A quarter into the grid, or earlier where the blocks would reach its end.
    const uint64_t Span = InTurn ? uint64_t(Resident - 1) * Sms + 1 : uint64_t(Generations) * Resident * Sms;
    Start = Blocks > Span ? std::min(Blocks / 4, Blocks - Span) : 0;
  }
  uint64_t first() const { return Start; }
  /// The first blocks go to the SMs in turn, each later one to whichever has room. In turn: there are no later ones.
  bool inTurn() const { return InTurn; }
  uint64_t at(uint64_t Slot) const { return (Start + Slot * Sms + (InTurn ? 0 : scattered(Slot + 1) % Sms)) % Blocks; }

private:
  uint64_t Blocks, Sms, Start = 0;
  bool InTurn;
};

/// Some of \p Warps of an SM in caches of their part, so long as all of them may ask within \p Limits: of warps, or blocks,
/// that share nothing not all need be there to tell what their loops find in the end.
std::optional<Reuse> simulateSome(const ptx::Function &F, const Sample &Sampled, const WarpRunner &Runner, const Gpu &G,
                                  const ResidentBlocks &Blocks, uint64_t Warps, const ptx::ExecuteLimits &Limits) {
  constexpr double Fewest = 4, Enough = 24, MostRequests = 3000;
  const double Requests = double(Warps * Limits.MaxRequests), Wanted = std::clamp(Sampled.RequestsPerWarp, 1.0, MostRequests);
  const bool Random = any_of(Sampled.PerInstruction, [](const AccessProfile &P) { return P.Random; });
  const double Some = Wanted > double(Limits.MaxRequests) ? std::max(Fewest, Requests / Wanted) : Random ? Enough : double(Warps);
  if (Some >= double(Warps))
    return std::nullopt;
  const std::optional<unsigned> Apart = loadApart(F, Runner, Blocks.first(), Limits);
  if (!Apart || (*Apart > 1 && Random)) // what blocks load at random they may have in common later
    return std::nullopt;
  const double Units = std::max(1.0, Some / *Apart), AllUnits = double(Warps) / *Apart;
  if (Units >= AllUnits)
    return std::nullopt;
  ptx::ExecuteLimits Longer = Limits;
  Longer.MaxRequests = std::max(Limits.MaxRequests, uint64_t(Requests / (Units * *Apart)));
  std::vector<WarpFootprint> Those;
  for (double At = 0; At < AllUnits; At += AllUnits / Units)
    for (unsigned W = 0; W < *Apart; ++W) {
      const uint64_t Of = uint64_t(At) * *Apart + W;
      Those.push_back(Runner.footprint(Blocks.at(Of / Runner.warpsPerBlock()), unsigned(Of % Runner.warpsPerBlock()), Longer));
    }
  Sm S(F, Sampled, G, double(Those.size()) / double(Warps));
  S.generation(Those, *Apart);
  return S.take(Longer);
}

Reuse simulateAll(const ptx::Function &F, const Sample &Sampled, const WarpRunner &Runner, const Gpu &G, const ResidentBlocks &Blocks,
                  unsigned Resident, unsigned Generations, const ptx::ExecuteLimits &Limits) {
  Sm S(F, Sampled, G, 1);
  // Of a grid of many waves, most blocks find what earlier ones left in L1, if what an SM's blocks load fits.
  if (Generations == 1 && !Blocks.inTurn()) {
    std::vector<WarpFootprint> Earlier = Runner.footprints({Blocks.first(), Blocks.first() + 1}, Limits);
    if (loadedBytes(F, Sampled, Earlier, Resident) <= G.L1Bytes)
      S.generation(Earlier, Runner.warpsPerBlock());
  }
  std::vector<WarpFootprint> Run;
  for (unsigned Gen = 0; Gen < Generations; ++Gen) {
    if (Gen > 0 && Blocks.inTurn()) // the same blocks of the next launch
      S.launch();
    else {
      std::vector<uint64_t> Of;
      for (uint64_t K = 0; K < Resident; ++K)
        Of.push_back(Blocks.at(Gen * Resident + K));
      Run = Runner.footprints(Of, Limits);
    }
    S.generation(Run, Runner.warpsPerBlock());
  }
  return S.take(Limits);
}

} // namespace

Reuse simulate(const ptx::Function &F, const Sample &Sampled, const WarpRunner &Runner, const Gpu &G, unsigned Resident,
               unsigned Generations, const ptx::ExecuteLimits &Limits) {
  const uint64_t Sms = std::max<uint64_t>(G.Sms, 1);
  const ResidentBlocks Blocks(Runner.blocks(), Resident, Generations, Sms);
  std::optional<Reuse> Some = simulateSome(F, Sampled, Runner, G, Blocks, uint64_t(Resident) * Runner.warpsPerBlock(), Limits);
  Reuse Out = Some ? std::move(*Some) : simulateAll(F, Sampled, Runner, G, Blocks, Resident, Generations, Limits);
  Out.AtATime = std::min(1.0, double(Resident * Sms) / double(Runner.blocks()));
  return Out;
}

} // namespace restride::cost
