#include "analysis/cost/ThesisReuse.h"

#include "llvm/ADT/DenseMap.h"
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
      : F(F), S(S), ResidentWarps(ResidentWarps), G(G) {
    for (const ptx::Request &R : S.Trace.Requests)
      RequestsOf[R.Instruction].push_back(&R);
  }

  ThesisAccess access(unsigned Index) const {
    ThesisAccess A;
    auto It = RequestsOf.find(Index);
    if (It == RequestsOf.end())
      return A;
    A.Transactions = thesisTransactions(laneStride(*It->second.front()));
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

  /// Executions, as traced, of instruction \p Index during one trip of \p Loop around it.
  size_t perTrip(unsigned Index, int Loop) const {
    double Header = S.Trace.BlockVisits[S.Flow.Loops[Loop].Header];
    return Header > 0 ? std::max(1l, std::lround(S.Trace.Executions[Index] / Header)) : 1;
  }

  /// C_loop * size: bytes between an access and the same one a trip of \p Loop
  /// later; empty where the trace does not reach that far.
  std::optional<uint64_t> loopStep(unsigned Index, int Loop) const {
    const auto &Seen = RequestsOf.find(Index)->second;
    size_t Later = perTrip(Index, Loop);
    if (Later >= Seen.size())
      return std::nullopt;
    unsigned Lane = countr_zero(Seen.front()->Mask);
    return distance(Seen.front()->Address[Lane], Seen[Later]->Address[Lane]);
  }

  /// How many copies of this source access the compiler put into one trip.
  unsigned unrolled(unsigned Index, int Loop) const {
    auto place = [](const ptx::Instruction &I) {
      return std::tuple(I.Loc.File, I.Loc.Line, I.Loc.Column, I.isStore(), I.accessBytes());
    };
    unsigned Copies = 0;
    for (auto &[Other, Seen] : RequestsOf)
      Copies += S.Flow.LoopOf[S.Flow.blockOf(Other)] == Loop && place(F.Body[Other]) == place(F.Body[Index]);
    return F.Body[Index].Loc.Line ? std::max(Copies, 1u) : 1;
  }

  /// Bytes of the distinct lines that all resident warps touch in one trip.
  double tripFootprint(int Loop) const {
    DenseSet<uint64_t> Lines;
    for (auto &[Index, Seen] : RequestsOf) {
      if (!S.Flow.inLoop(S.Flow.blockOf(Index), Loop))
        continue;
      size_t Count = std::min(perTrip(Index, Loop), Seen.size());
      for (const ptx::Request *R : ArrayRef(Seen).take_front(Count))
        for (const SectorTouch &T : sectorsOf(*R, F.Body[Index].accessBytes()))
          Lines.insert(T.Sector * SectorBytes / LineBytes);
    }
    return double(Lines.size()) * LineBytes * ResidentWarps;
  }

  double hit(unsigned Index) const {
    int Inner = S.Flow.LoopOf[S.Flow.blockOf(Index)];
    if (Inner < 0)
      return 0; // executed once: a first access misses
    // Inner loops first: what one trip touches stays if it fits L2, and an
    // address that the loop does not change is found again.
    for (int Loop = Inner; Loop >= 0; Loop = S.Flow.Loops[Loop].Parent)
      if (loopStep(Index, Loop) == uint64_t(0) && tripFootprint(Loop) <= G.L2Bytes)
        return 1;
    std::optional<uint64_t> Step = loopStep(Index, Inner);
    if (!Step)
      return 0;
    return *Step ? thesisVariantHit(*Step / unrolled(Index, Inner)) : thesisInvariantHit(S.weight(Index));
  }

  const ptx::Function &F;
  const Sample &S;
  double ResidentWarps;
  const Gpu &G;
  DenseMap<unsigned, std::vector<const ptx::Request *>> RequestsOf;
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
