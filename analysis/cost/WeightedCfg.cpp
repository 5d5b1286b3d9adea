#include "analysis/cost/WeightedCfg.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace restride::cost {

double WeightedCfg::total() const {
  double Sum = 0;
  for (const CfgNode &N : Nodes)
    Sum += N.Weight * N.Cost;
  return Sum;
}

static std::string formatted(double N) {
  std::string Text;
  raw_string_ostream(Text) << format("%.2g", N);
  return Text;
}

/// The header often begins with a copy of a register that stands nowhere.
static ptx::SourceLocation placeOf(const ptx::Function &F, const ptx::ControlFlow &C, const ptx::Loop &L) {
  std::vector<unsigned> Blocks = {L.Header};
  append_range(Blocks, L.Blocks);
  for (unsigned B : Blocks)
    for (unsigned I = C.Blocks[B].Begin; I < C.Blocks[B].End; ++I)
      if (F.Body[I].Loc.Line)
        return F.Body[I].Loc;
  return {};
}

static bool isInside(const ptx::ControlFlow &C, int Loop, unsigned Of) {
  for (; Loop >= 0; Loop = C.Loops[Loop].Parent)
    if (unsigned(Loop) == Of)
      return true;
  return false;
}

/// The warps of which no limit on effort ended loop \p Index, or one in it, of those that entered it.
static SmallVector<const ptx::WarpTrace *> thatEnded(const ptx::ControlFlow &C, unsigned Index, ArrayRef<const ptx::WarpTrace *> Traces) {
  SmallVector<const ptx::WarpTrace *> Out;
  copy_if(Traces, std::back_inserter(Out), [&](const ptx::WarpTrace *T) {
    return T->Loops[Index].Entries > 0 &&
           none_of(seq<int>(0, int(T->Loops.size())), [&](int L) { return T->Loops[L].Hurried && isInside(C, L, Index); });
  });
  return Out;
}

/// Weights of blocks, by warp. What a warp whose loop was ended by a limit would have done in it, others show.
static std::vector<std::vector<double>> blockWeights(const ptx::ControlFlow &C, ArrayRef<const ptx::WarpTrace *> Traces) {
  std::vector<std::vector<double>> Out;
  for (const ptx::WarpTrace *T : Traces) {
    std::vector<double> &Weights = Out.emplace_back(T->BlockWeight);
    for (unsigned L = 0; L < C.Loops.size(); ++L) {
      bool Around = false; // it is part of one that was ended too
      for (int P = C.Loops[L].Parent; P >= 0; P = C.Loops[P].Parent)
        Around |= T->Loops[P].Hurried;
      if (!T->Loops[L].Hurried || Around)
        continue;
      const SmallVector<const ptx::WarpTrace *> Others = thatEnded(C, L, Traces);
      double Entries = 0;
      for (const ptx::WarpTrace *O : Others)
        Entries += double(O->Loops[L].Entries);
      if (Entries > 0)
        for (unsigned B : C.Loops[L].Blocks) {
          Weights[B] = 0;
          for (const ptx::WarpTrace *O : Others)
            Weights[B] += O->BlockWeight[B] / Entries * double(T->Loops[L].Entries);
        }
    }
  }
  return Out;
}

static CfgLoop averageLoop(const ptx::Function &F, const ptx::ControlFlow &C, unsigned Index,
                           ArrayRef<const ptx::WarpTrace *> Traces) {
  CfgLoop L;
  L.Header = C.Loops[Index].Header;
  L.Parent = C.Loops[Index].Parent;
  L.At = placeOf(F, C, C.Loops[Index]);
  double Entries = 0, Trips = 0;
  const SmallVector<const ptx::WarpTrace *> Ended = thatEnded(C, Index, Traces);
  for (const ptx::WarpTrace *T : Ended.empty() ? Traces : ArrayRef<const ptx::WarpTrace *>(Ended)) {
    Entries += T->Loops[Index].Entries;
    Trips += T->Loops[Index].True;
  }
  L.Known = all_of(Traces, [&](const ptx::WarpTrace *T) { return T->Loops[Index].Known || T->Loops[Index].Entries == 0; });
  L.Trips = Entries > 0 ? Trips / Entries : 0;
  L.Runs = any_of(Traces, [&](const ptx::WarpTrace *T) { return T->Loops[Index].Runs; });
  return L;
}

/// A loop that could not be counted and was stopped by an effort limit ran as
/// many trips as its layout's requests allowed. Give it those that all
/// data-dependent loops make, so that variants stay comparable.
static void assumeTrips(WeightedCfg &G, const ptx::ControlFlow &C, unsigned Index,
                        ArrayRef<const ptx::WarpTrace *> Traces) {
  CfgLoop &L = G.Loops[Index];
  if (L.Known || L.Trips == 0)
    return;
  const double Assumed = double(ptx::ExecuteLimits().DataLoopTrips);
  const bool Search = any_of(Traces, [&](const ptx::WarpTrace *T) { return T->Loops[Index].Search; });
  const bool Hurried = any_of(Traces, [&](const ptx::WarpTrace *T) { return T->Loops[Index].Hurried; });
  if (Hurried && !Search && L.Trips < Assumed && thatEnded(C, Index, Traces).empty()) {
    for (unsigned B : C.Loops[Index].Blocks)
      G.Nodes[B].Weight *= Assumed / L.Trips;
    L.Trips = Assumed;
  }
  G.Notes.push_back({L.At, L.Trips < 1.5 ? "is not counted: 1 trip is assumed" : formatv("is not counted: {0:F0} trips are assumed", L.Trips).str()});
}

/// What a reader must know of loops that were counted all the same: those that
/// cost nothing, and those that cost everything.
static void noteExtremes(WeightedCfg &G) {
  constexpr double Many = 1ull << 31;
  auto runs = [](const CfgLoop &L) { return L.Trips > 0; };
  for (const CfgLoop &L : G.Loops) {
    if (L.Runs)
      G.Notes.push_back({L.At, "goes through runs of elements whose mean length follows from the arrays' sizes"});
    if (runs(L)) {
      if (L.Known && L.Trips >= Many)
        G.Notes.push_back({L.At, "makes " + formatted(L.Trips) + " trips, by what is known of the launch"});
      continue;
    }
    // The rest of an unrolled loop has the line of the loop itself.
    bool Inside = L.Parent >= 0 && !runs(G.Loops[L.Parent]);
    if (!Inside && none_of(G.Loops, [&](const CfgLoop &Other) { return runs(Other) && Other.At.Line == L.At.Line; }))
      G.Notes.push_back({L.At, "does not run, by what is known of the launch: what it does costs nothing"});
  }
}

WeightedCfg weightedCfg(const ptx::Function &F, const ptx::ControlFlow &C, ArrayRef<const ptx::WarpTrace *> Traces, ArrayRef<double> Shares) {
  WeightedCfg G;
  for (unsigned L = 0; L < C.Loops.size(); ++L)
    G.Loops.push_back(averageLoop(F, C, L, Traces));
  const std::vector<std::vector<double>> Weights = blockWeights(C, Traces);
  G.Nodes.resize(C.Blocks.size());
  for (unsigned B = 0; B < C.Blocks.size(); ++B) {
    CfgNode &N = G.Nodes[B];
    N.Block = B;
    N.Loop = C.LoopOf[B];
    for (size_t T = 0; T < Weights.size(); ++T)
      N.Weight += Weights[T][B] * (Shares.empty() ? 1.0 / double(Traces.size()) : Shares[T]);
  }
  for (unsigned L = 0; L < G.Loops.size(); ++L)
    assumeTrips(G, C, L, Traces);
  noteExtremes(G);
  for (CfgNode &N : G.Nodes) {
    double Around = N.Loop < 0 ? 1 : G.Nodes[C.Loops[N.Loop].Header].Weight;
    N.Probability = Around > 0 ? N.Weight / Around : 0;
  }
  return G;
}

std::string dump(const ptx::Function &F, const ptx::ControlFlow &C, const WeightedCfg &G) {
  std::string Text;
  raw_string_ostream OS(Text);
  OS << F.Name << '\n';
  for (auto [I, L] : enumerate(G.Loops))
    OS << formatv("  loop {0}: block {1} line {2} trips {3:F2} ({4}) in {5}\n", I, L.Header, L.At.Line, L.Trips,
                  L.Known ? "counted" : "assumed", L.Parent < 0 ? "-" : std::to_string(L.Parent));
  for (const CfgNode &N : G.Nodes) {
    const ptx::Block &B = C.Blocks[N.Block];
    OS << formatv("  node {0}: [{1}, {2}) p {3:F3} weight {4:F2} cost {5:F2}", N.Block, B.Begin, B.End, N.Probability,
                  N.Weight, N.Cost);
    OS << " ->";
    for (unsigned S : B.Succs)
      OS << ' ' << S;
    OS << '\n';
  }
  return Text;
}

} // namespace restride::cost
