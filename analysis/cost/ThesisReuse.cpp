#include "analysis/cost/ThesisReuse.h"

#include "analysis/cost/LoopSteps.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <tuple>

using namespace llvm;

namespace restride::cost {

namespace {

class Reuse {
public:
  Reuse(const ptx::Function &F, const Sample &S, double ResidentWarps, const Gpu &G)
      : F(F), S(S), Steps(S.Trace), ResidentWarps(ResidentWarps), G(G) {}

  ThesisAccess access(unsigned Index) const {
    ThesisAccess A;
    ArrayRef<const ptx::Request *> Seen = Steps.requests(Index);
    if (Seen.empty())
      return A;
    A.Transactions = thesisTransactions(laneStride(*Seen.front()));
    A.Hit = hit(Index);
    return A;
  }

private:
  static uint64_t distance(uint64_t A, uint64_t B) { return A > B ? A - B : B - A; }

  /// C_tid * size: bytes between the first two neighbouring active lanes.
  static uint64_t laneStride(const ptx::Request &R) {
    for (unsigned Lane = 0; Lane + 1 < WarpLanes; ++Lane)
      if ((R.Mask >> Lane & 3) == 3)
        return distance(R.Address[Lane], R.Address[Lane + 1]);
    return 0;
  }

  /// C_loop * size.
  std::optional<uint64_t> loopStep(unsigned Index, int Loop) const {
    const SmallVector<int64_t, 8> All = Steps.steps(Index, Loop);
    return All.empty() ? std::nullopt : std::optional<uint64_t>(std::abs(All.front()));
  }

  /// How many copies of this source access the compiler put into one trip.
  unsigned unrolled(unsigned Index, int Loop) const {
    auto place = [](const ptx::Instruction &I) {
      return std::tuple(I.Loc.File, I.Loc.Line, I.Loc.Column, I.isStore(), I.accessBytes());
    };
    unsigned Copies = 0;
    for (unsigned Other = 0; Other < F.Body.size(); ++Other)
      Copies += !Steps.requests(Other).empty() && S.Flow.LoopOf[S.Flow.blockOf(Other)] == Loop &&
                place(F.Body[Other]) == place(F.Body[Index]);
    return F.Body[Index].Loc.Line ? std::max(Copies, 1u) : 1;
  }

  /// Bytes of the distinct lines that all resident warps touch in one trip, as
  /// far as inner loops were traced.
  double tripFootprint(int Loop) const {
    if (S.Trace.TripStarts[Loop].empty())
      return 0;
    DenseSet<uint64_t> Lines;
    auto [Begin, End] = Steps.trip(Loop, 0);
    for (const ptx::Request &R : ArrayRef(S.Trace.Requests).slice(Begin, End - Begin))
      if (S.Flow.inLoop(S.Flow.blockOf(R.Instruction), Loop))
        for (const SectorTouch &T : sectorsOf(R, F.Body[R.Instruction].accessBytes()))
          Lines.insert(T.Sector * SectorBytes / LineBytes);
    return double(Lines.size()) * LineBytes * ResidentWarps;
  }

  double hit(unsigned Index) const {
    int Inner = S.Flow.LoopOf[S.Flow.blockOf(Index)];
    if (Inner < 0)
      return 0; // executed once: a first access misses
    double Best = 0;
    if (std::optional<uint64_t> Step = loopStep(Index, Inner))
      Best = *Step ? thesisVariantHit(*Step / unrolled(Index, Inner)) : thesisInvariantHit(S.weight(Index));
    // Inner loops first: what one trip touches stays if it fits L2, and the next
    // trip finds the line again if it moves by less.
    for (int Loop = Inner; Loop >= 0 && Best < 1; Loop = S.Flow.Loops[Loop].Parent)
      if (std::optional<uint64_t> Step = loopStep(Index, Loop))
        if (double Hit = thesisVariantHit(*Step / unrolled(Index, Loop)); Hit > Best && tripFootprint(Loop) <= G.L2Bytes)
          Best = Hit;
    return Best;
  }

  const ptx::Function &F;
  const Sample &S;
  LoopSteps Steps;
  double ResidentWarps;
  const Gpu &G;
};

} // namespace

std::vector<ThesisAccess> thesisAccesses(const ptx::Function &F, const Sample &S, double ResidentWarps, const Gpu &G) {
  Reuse R(F, S, ResidentWarps, G);
  std::vector<ThesisAccess> Accesses(F.Body.size());
  for (auto [I, P] : enumerate(S.PerInstruction))
    if (P.Requests)
      Accesses[I] = R.access(I);
  return Accesses;
}

} // namespace restride::cost
