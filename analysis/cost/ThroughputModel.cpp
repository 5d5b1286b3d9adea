#include "analysis/cost/ThroughputModel.h"

#include "analysis/cost/AccessReport.h"
#include "analysis/cost/Atomics.h"
#include "analysis/cost/FlowReport.h"
#include "analysis/cost/CriticalPath.h"
#include "analysis/cost/IssueSlots.h"
#include "analysis/cost/LiveRegisters.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

using namespace llvm;

namespace restride::cost {

/// What two things take that overlap as terms do.
static double overlapped(double A, double B, double PNorm) {
  return std::pow(std::pow(A, PNorm) + std::pow(B, PNorm), 1 / PNorm);
}

/// Issue slots, joined with those that pass while narrower units are busy.
static double issueDemand(const ptx::Function &F, const Sample &S, const Gpu &G) {
  double Slots = G.WarpSlots;
  std::map<StringRef, double> Units; // instructions
  for (const CfgNode &N : S.Cfg.Nodes)
    for (unsigned I = S.Flow.Blocks[N.Block].Begin; N.Weight > 0 && I < S.Flow.Blocks[N.Block].End; ++I) {
      Slots += N.Weight * issueSlots(F.Body[I], G);
      if (StringRef Unit = unitOf(F.Body[I]); !Unit.empty())
        Units[Unit] += N.Weight;
    }
  for (auto [Unit, Instructions] : Units)
    if (auto Lanes = G.UnitLanes.find(Unit.str()); Lanes != G.UnitLanes.end())
      Slots = overlapped(Slots, Instructions * WarpLanes / Lanes->second * G.Schedulers, G.PNorm);
  return Slots;
}

/// Average cycles until a load's value is there, by where its requests hit.
static std::vector<double> loadLatencies(const ptx::Function &F, const Reuse &R, const DramTraffic &D, const Gpu &G) {
  std::vector<double> Latency(F.Body.size(), G.L1Latency);
  auto beyondL2 = [&](double MissShare) { return G.L2Latency + MissShare * (G.DramLatency - G.L2Latency); };
  double Far = beyondL2(D.Regular.MissShare), Random = beyondL2(D.Random.MissShare);
  const double Late = G.DramDeviation * std::max(D.Regular.MissShare, D.Random.MissShare);
  for (auto [I, A] : enumerate(R.PerInstruction)) {
    if (F.Body[I].Op == ptx::Opcode::Atom)
      Latency[I] = G.L2Latency;
    else if (double All = std::accumulate(A.Waits.begin(), A.Waits.end(), 0.0); All > 0)
      Latency[I] = (A.Waits[0] * G.L1Latency + A.Waits[1] * G.L2Latency + A.Waits[2] * Far + A.Waits[3] * Random + A.Spread * Late) / All;
  }
  return Latency;
}

/// What a store to a line that comes from L2 takes of one to a line that comes from DRAM.
static constexpr double NearConflict = 0.25;

/// Times as long as for a copy from one array to another DRAM takes for \p Near: where reads and writes alternate between
/// more arrays, more rows are opened for a few granules. An H100 updates 4, 10, 16 and 32 arrays at 0.98, 0.96, 0.94 and
/// 0.92 of the rate of tiles; with half of them written, 32 at 0.965; and only reads or writes them at 0.98 or more.
static double turnarounds(const RegularTraffic &Near) {
  constexpr double PerRoot = 0.016;
  const double Both = Near.ReadBytes + Near.WriteBytes, Fewer = std::min(Near.ReadBytes, Near.WriteBytes);
  const double Mixed = Both > 0 ? 2 * Fewer / Both : 0;
  return 1 + PerRoot * Mixed * Mixed * (std::sqrt(std::max(2.0, Near.Regions) - 1) - 1);
}

/// It is run once all trips of a loop are done.
static bool followsLoop(unsigned Instruction, const ptx::ControlFlow &Flow) {
  const unsigned Block = Flow.blockOf(Instruction);
  return Flow.LoopOf[Block] < 0 && any_of(Flow.Loops, [&](const ptx::Loop &L) { return Flow.dominates(L.Header, Block); });
}

WarpDemand warpDemand(const ptx::Function &F, const Sample &S, const Reuse &R, const DramTraffic &D, const Gpu &G) {
  WarpDemand W;
  W.Slots = issueDemand(F, S, G);
  W.TagPasses = W.BankCycles = G.WarpWavefronts;
  bool Stores = false;
  for (auto [I, P] : enumerate(S.PerInstruction)) {
    W.TagPasses += S.weight(I) * P.TagPasses;
    W.BankCycles += S.weight(I) * P.BankCycles;
    W.Atomics += S.weight(I) * P.Atomics;
    W.LastAtomics += P.Atomics > 0 && followsLoop(I, S.Flow) ? S.weight(I) * P.Atomics : 0;
    Stores |= F.Body[I].isStore() && P.Requests > 0 && F.Body[I].Mem != ptx::Space::Shared;
    if (const AccessReuse &A = R.PerInstruction[I]; A.Requests > 0) {
      W.L2Sectors += S.weight(I) * A.MissSectors / A.Requests;
      W.L2Requests += S.weight(I) * A.MissLines / A.Requests;
      W.StorePackets += S.weight(I) * A.Packets / A.Requests;
      W.BusyPackets += S.weight(I) * A.BusyPackets / A.Requests;
      const double Far = std::lerp(NearConflict, 1, D.Regular.MissShare);
      W.Conflicts += S.weight(I) / A.Requests * (A.ConflictSectors * Far + A.NearConflictSectors);
    }
  }
  W.TagPasses += Stores ? G.StoreWavefronts : 0;
  W.BankCycles += Stores ? G.StoreWavefronts : 0;
  // Granules alone in their DRAM rows are served as random ones are.
  const RegularTraffic &Near = D.Regular;
  const double Stream = 1 / G.DramBytesPerCycle;
  const double ReadAlone = std::max(Stream, (G.RandomSectorCycles + G.RandomGranuleCycles) / G.DramGranule);
  const double FillBytes = Near.FillShare * Near.WriteBytes;
  W.DramBytes = Near.ReadBytes + FillBytes + Near.WriteBytes;
  W.DramCycles = turnarounds(Near) * (Near.ReadBytes * std::lerp(Stream, ReadAlone, Near.ReadScatter) + FillBytes * Stream +
                                     Near.WriteBytes * std::max(Stream, Near.SectorWriteCycles / SectorBytes));
  W.FillShare = Near.FillShare * Near.MissShare;
  const RandomTraffic &Far = D.Random;
  // Beside what L2 takes for them: gathers from 36 to 256 MB took 0.85 to 1.16 of what this says.
  constexpr double HitShare = 0.5;
  // Of atomics on one sector the first one fetches it, and those behind it wait; where a load has fetched it they hardly do.
  const double Behind = Far.AtomicDistinct > 0 ? std::lerp(0.8, 1.5, Far.AtomicFetched / Far.AtomicDistinct) : 0;
  const double Waits = std::lerp(1, Behind, Far.MissShare);
  W.RandomHits = HitShare * Far.LoadSectors * (1 - Far.MissShare) + Waits * (Far.AtomicSectors - Far.AtomicDistinct * Far.MissShare);
  W.RandomGranules = (Far.LoadGranules + Far.DirtyGranules) * Far.MissShare;
  const double Loaded = std::lerp(Far.LoadGranules * G.DramGranule * Stream,
                                  Far.LoadSectors * G.RandomSectorCycles + Far.LoadGranules * G.RandomGranuleCycles,
                                  Far.LoadScatter);
  // What is partly written is read first, for each store.
  const double Stored = Far.DirtyGranules * G.WriteBackCycles +
                        2 * Far.PartialStoreSectors * G.RandomSectorCycles;
  // With the fetch of its sector, a line that atomics change takes no longer than one that is stored: adds to random
  // words of 1 GB take 16.5 cycles, to two, three and four arrays of it 14.5 to 15.4 each. A second granule of it takes
  // what its bytes do: three counters of a record take 339,000 cycles in one granule, 413,000 in two of a line, and 616,000 to
  // 676,000 in three lines, near each other or not.
  const double Changed = Far.AtomicLines * G.WriteBackCycles + (Far.AtomicGranules - Far.AtomicLines) * 2 * G.DramGranule * Stream;
  W.RandomCycles = Far.MissShare * (Loaded + Stored + Changed);
  W.Translations = Far.Translations;
  return W;
}

/// Of an SM's port to L2, per cycle.
static constexpr double PortBytesRead = 64, PortBytesWritten = 32;

/// Cycles of an SM that L2 takes to serve what a warp reads: so many for a request and so many for each of its sectors
/// that whole lines take what they do in a stream, and single sectors what they do in random order.
static double l2ReadCycles(const WarpDemand &W, const Gpu &G) {
  constexpr double PerLine = LineBytes / SectorBytes;
  const double InStream = SectorBytes / G.L2BytesPerCycle, Alone = std::max(InStream, G.RandomHitCycles);
  const double Request = (Alone - InStream) * PerLine / (PerLine - 1);
  return W.L2Requests * Request + W.L2Sectors * (Alone - Request);
}

/// Cycles of \p Atomics of each warp of a wave, which all SMs wait for.
static double atomicCycles(double Atomics, const Wave &Wave, unsigned WarpsPerBlock, const Gpu &G) {
  return Wave.Mean * WarpsPerBlock * Atomics * G.Sms * G.AtomicCycles;
}

Terms waveTerms(const WarpDemand &W, const Wave &Wave, unsigned WarpsPerBlock, const Gpu &G) {
  // L2 and DRAM are shared, and serve the few SMs of a small grid faster, up to what the port of one takes.
  double Warps = Wave.Blocks * WarpsPerBlock, Share = Wave.Mean / Wave.Blocks;
  Terms T;
  T.Issue = W.Slots * Warps / G.Schedulers;
  T.L1 = std::max(W.TagPasses, W.BankCycles) * Warps;
  // Data to L2 and data from it pass each other; for atomics the slice that gets most counts.
  double Read = std::max(Share * l2ReadCycles(W, G), W.L2Sectors * SectorBytes / PortBytesRead);
  double Written = W.StorePackets * std::max(Share * G.StoreSectorCycles, SectorBytes / PortBytesWritten) +
                   Share * W.Conflicts * G.ConflictSectorCycles;
  T.L2 = overlapped(Warps * overlapped(Read, Written, G.PNorm), atomicCycles(W.Atomics, Wave, WarpsPerBlock, G), G.PNorm);
  // Addresses are translated while others wait for their data.
  double Random = std::max(W.RandomHits * G.RandomHitCycles + W.RandomCycles, W.Translations * G.TranslationCycles);
  T.Dram = Share * Warps * (W.DramCycles + Random + W.FillShare * W.StorePackets * G.StoreSectorCycles);
  T.Latency = G.WaveCycles + W.PathCycles * G.LatencyFactor;
  return T;
}

double join(const Terms &T, double PNorm) {
  double Sum = 0;
  for (double Term : {T.Issue, T.L1, T.L2, T.Dram, T.Latency})
    Sum += std::pow(Term, PNorm);
  return std::pow(Sum, 1 / PNorm);
}

std::string boundBy(const Terms &T) {
  std::pair<double, const char *> All[] = {
      {T.Issue, "issue"}, {T.L1, "l1"}, {T.L2, "l2"}, {T.Dram, "dram"}, {T.Latency, "latency"}};
  return std::max_element(std::begin(All), std::end(All), llvm::less_first())->second;
}

/// Requests per warp so that all resident warps together stay affordable: what
/// counts is sectors, of which a scattered request has up to 32.
static ptx::ExecuteLimits reuseLimits(unsigned ResidentWarps, const Sample &S) {
  constexpr double Budget = 8000, Fewest = 24, Most = 3000;
  double Requests = 0, Sectors = 0;
  for (const AccessProfile &P : S.PerInstruction) {
    Requests += P.Requests;
    Sectors += P.Requests * P.Sectors;
  }
  double PerRequest = Requests > 0 ? std::max(Sectors / Requests, 4.0) : 4.0;
  ptx::ExecuteLimits Limits;
  Limits.MaxRequests = uint64_t(std::clamp(Budget / PerRequest / std::max(ResidentWarps, 1u), Fewest, Most));
  Limits.MaxInstructions = 5000; // of a warp that loops long between its requests
  Limits.WalkStart = Limits.DataLoopTrips - 3; // lanes and warps have parted by then
  return Limits;
}

/// Stores that pass the port one by one, because those of other warps come between, keep it busy; where that takes
/// longer than all else, they do come between.
static double packetsSent(const WarpDemand &W, const Wave &Wave, unsigned WarpsPerBlock, const Gpu &G) {
  constexpr double Steepness = 4;
  double Calm = join(waveTerms(W, Wave, WarpsPerBlock, G), G.PNorm);
  double Busy = W.BusyPackets * SectorBytes / PortBytesWritten * Wave.Blocks * WarpsPerBlock;
  double Share = 1 / (1 + std::pow(Calm / std::max(Busy, 1.0), Steepness));
  return W.StorePackets + Share * (W.BusyPackets - W.StorePackets);
}

/// Further cycles where all blocks of the last wave are through with their loops at a time, and then wait for each other's
/// atomics: nothing is left that these could overlap with.
static double atomicsAtTheEnd(const WarpDemand &W, const Wave &Last, unsigned WarpsPerBlock, const Gpu &G) {
  WarpDemand Before = W;
  Before.Atomics -= W.LastAtomics;
  const double Alone = join(waveTerms(Before, Last, WarpsPerBlock, G), G.PNorm) + atomicCycles(W.LastAtomics, Last, WarpsPerBlock, G);
  return std::min(1.0, Last.Times) * (Alone - join(waveTerms(W, Last, WarpsPerBlock, G), G.PNorm));
}

static KernelCost costAsGiven(const ptx::Module &M, const Code &Kernel, const KernelLaunch &L, const Gpu &G,
                              WeightedCfg *Cfg, bool &Walks) {
  const ptx::Function &F = Kernel.F;
  KernelCost K;
  K.Name = L.Function;
  K.Calls = L.Calls;
  K.Notes = L.Notes;
  for (const ptx::Variable &V : F.Variables)
    if (auto At = L.SymbolNotes.find(V.Name); At != L.SymbolNotes.end())
      append_range(K.Notes, At->second);

  WarpRunner Runner(Kernel, L.Facts);
  Sample S = sample(Kernel, Runner);
  append_range(K.Notes, S.Notes);
  Walks = any_of(S.Trace.Loops, [](const ptx::LoopTrips &T) { return T.Walk; });
  if (Walks)
    K.Notes.push_back("where a loop goes on is loaded: the steps of its walk are taken as random");
  K.LoopNotes = loopNotes(M, S);
  unsigned Registers = L.Registers ? L.Registers : estimateRegisters(F, S.Flow, G.MaxThreadRegisters);
  Occupancy O = occupancy(resources(F, L.Facts, Registers), G);
  std::vector<Wave> Waves = waves(Runner.blocks(), O, G);

  unsigned Resident = std::min<uint64_t>(O.ResidentBlocks, std::max(1.0, std::ceil(Runner.blocks() / G.Sms)));
  ptx::ExecuteLimits Limits = reuseLimits(Resident * O.WarpsPerBlock, S);
  unsigned Generations = S.RequestsPerWarp < 50 ? 2 : 1; // short warps find what others left behind
  Reuse R = simulate(F, S, Runner, G, Resident, Generations, Limits);
  DramTraffic D = dramTraffic(F, Runner, S, R, G, L.Facts, std::max(1.0, double(L.Calls)), Limits);

  WarpDemand W = warpDemand(F, S, R, D, G);
  // As if only threads limited how many blocks are resident: a register more or less shall not change which ones are looked at.
  const uint64_t BlocksAtATime = uint64_t(G.Sms) * std::max(1u, G.MaxWarps / O.WarpsPerBlock);
  const double Busiest = busiestSlice(F, Runner, BlocksAtATime);
  W.Atomics *= Busiest;
  W.LastAtomics *= Busiest;
  std::vector<double> Latency = loadLatencies(F, R, D, G);
  std::vector<double> Paths = criticalPaths(F, S.Flow, Latency, G);
  for (CfgNode &N : S.Cfg.Nodes)
    N.Cost = Paths[N.Block];
  W.PathCycles = S.Cfg.total();
  W.StorePackets = packetsSent(W, Waves.front(), O.WarpsPerBlock, G);

  for (const Wave &Each : Waves) {
    Terms T = waveTerms(W, Each, O.WarpsPerBlock, G);
    K.Cycles += Each.Times * join(T, G.PNorm);
    K.Parts.Issue += Each.Times * T.Issue;
    K.Parts.L1 += Each.Times * T.L1;
    K.Parts.L2 += Each.Times * T.L2;
    K.Parts.Dram += Each.Times * T.Dram;
    K.Parts.Latency += Each.Times * T.Latency;
  }
  K.Cycles += atomicsAtTheEnd(W, Waves.back(), O.WarpsPerBlock, G);
  K.BoundBy = boundBy(K.Parts);
  K.Cycles += G.LaunchCycles;
  K.Resident = residency(O, Runner.blocks(), G);
  K.Resident.ThreadRegisters = Registers;
  K.Resident.RegistersEstimated = !L.Registers;
  double Warps = double(Runner.blocks()) * O.WarpsPerBlock;
  K.L2Bytes = Warps * (W.L2Sectors + W.StorePackets) * SectorBytes;
  K.DramBytes = Warps * (W.DramBytes + W.RandomGranules * G.DramGranule);
  K.Accesses = accessCosts(M, F, S, loadHits(S, R, D));
  K.Flow = flowNodes(M, F, S);
  if (Cfg)
    *Cfg = S.Cfg;
  return K;
}

/// Some of \p K's accesses follow loaded indices, and nobody says how these lie.
static bool guessesIndices(const KernelCost &K, const Code &Kernel, const ptx::LaunchFacts &Facts) {
  const ptx::WarpExecutor &E = Kernel.Executor;
  if (Facts.PlacesAtRandom && E.makesSubscriptsOfReals() && !E.elementsLieByRuns()) // nor has anybody sorted them
    return false;
  return Facts.Orders.empty() && !Facts.Scatters && any_of(K.Accesses, [](const AccessCost &A) { return A.Indirect; });
}

KernelCost throughputCost(const ptx::Module &M, const ptx::Function &F, const KernelLaunch &L, const Gpu &G,
                          WeightedCfg *Cfg) {
  const Code Kernel(F);
  bool Walks = false;
  KernelCost K = costAsGiven(M, Kernel, L, G, Cfg, Walks);
  if (!guessesIndices(K, Kernel, L.Facts) || Walks) // no order leads from threads to where walks are
    return K;
  // Nobody says how the indices lie. The geometric mean of both extremes weighs
  // how much a layout gains in one against how much it loses in the other.
  KernelLaunch Sorted = L;
  Sorted.Facts.LocalData = true;
  KernelCost Near = costAsGiven(M, Kernel, Sorted, G, nullptr, Walks);
  auto mean = [](double &A, double B) { A = std::sqrt(A * B); };
  if (Kernel.Executor.elementsLieByRuns()) {
    Near.Notes.push_back("elements are taken to lie in the order of the runs that a loop goes through");
    return Near;
  }
  if (L.Facts.OnLattice)
    return Near;
  mean(K.Cycles, Near.Cycles);
  mean(K.Parts.Issue, Near.Parts.Issue);
  mean(K.Parts.L1, Near.Parts.L1);
  mean(K.Parts.L2, Near.Parts.L2);
  mean(K.Parts.Dram, Near.Parts.Dram);
  mean(K.Parts.Latency, Near.Parts.Latency);
  mean(K.L2Bytes, Near.L2Bytes);
  mean(K.DramBytes, Near.DramBytes);
  K.BoundBy = boundBy(K.Parts);
  K.Notes.push_back("loaded indices are taken as random and as sorted, and the cycles are the geometric mean of both");
  return K;
}

} // namespace restride::cost
