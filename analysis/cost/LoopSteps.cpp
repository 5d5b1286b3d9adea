#include "analysis/cost/LoopSteps.h"

#include "ptx/execute/AddressMap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace restride::cost {

LoopSteps::LoopSteps(const ptx::WarpTrace &T) : T(T) {
  for (const ptx::Request &R : T.Requests)
    RequestsOf[R.Instruction].push_back(&R);
}

ArrayRef<const ptx::Request *> LoopSteps::requests(unsigned Instruction) const {
  auto It = RequestsOf.find(Instruction);
  return It == RequestsOf.end() ? ArrayRef<const ptx::Request *>() : ArrayRef(It->second);
}

std::pair<size_t, size_t> LoopSteps::trip(int Loop, size_t Trip) const {
  const std::vector<ptx::TripStart> &Starts = T.TripStarts[Loop];
  return {Starts[Trip].Request, Trip + 1 < Starts.size() ? Starts[Trip + 1].Request : T.Requests.size()};
}

const ptx::Request *LoopSteps::firstIn(unsigned Instruction, int Loop, size_t Trip) const {
  auto [Begin, End] = trip(Loop, Trip);
  const ptx::Request *All = T.Requests.data();
  ArrayRef<const ptx::Request *> Seen = requests(Instruction);
  auto It = lower_bound(Seen, All + Begin);
  return It != Seen.end() && *It < All + End ? *It : nullptr;
}

SmallVector<int64_t, 8> LoopSteps::steps(unsigned Instruction, int Loop) const {
  SmallVector<int64_t, 8> Out;
  const std::vector<ptx::TripStart> &Starts = T.TripStarts[Loop];
  for (size_t Trip = 0; Trip + 1 < Starts.size() && Out.size() < 8; ++Trip) {
    if (Starts[Trip + 1].Enters)
      continue;
    const ptx::Request *A = firstIn(Instruction, Loop, Trip), *B = firstIn(Instruction, Loop, Trip + 1);
    if (A && B && (A->Mask & B->Mask)) {
      unsigned Lane = countr_zero(A->Mask & B->Mask);
      Out.push_back(int64_t(B->Address[Lane] - A->Address[Lane]));
    }
  }
  return Out;
}

/// As data say: it stays where it is.
static bool goesToAndFro(ArrayRef<int64_t> Steps) {
  return any_of(Steps, [&](int64_t Step) { return (Step < 0) != (Steps.front() < 0); });
}

std::vector<Reach> unseenReach(const ptx::ControlFlow &C, const ptx::WarpTrace &T, const LoopSteps &Longer, size_t Instructions) {
  std::vector<Reach> Out(Instructions);
  auto unseen = [](const ptx::LoopTrips &L) { return L.Entries ? (L.True - double(L.Executed)) / double(L.Entries) : 0; };
  if (none_of(T.Loops, [&](const ptx::LoopTrips &L) { return unseen(L) > 0; }))
    return Out;
  constexpr double Most = double(1ull << (ptx::RangeBits - 1)); // a step to another array is none
  const LoopSteps Steps(T);
  for (unsigned I = 0; I < Instructions; ++I) {
    if (Steps.requests(I).empty())
      continue;
    for (int Loop = C.LoopOf[C.blockOf(I)]; Loop >= 0; Loop = C.Loops[Loop].Parent) {
      double Left = unseen(T.Loops[Loop]);
      if (Left <= 0)
        continue;
      const SmallVector<int64_t, 8> All = Steps.steps(I, Loop);
      if (All.empty() || goesToAndFro(All) || goesToAndFro(Longer.steps(I, Loop)))
        continue;
      const double Step = double(All.front());
      double &Side = Step < 0 ? Out[I].Below : Out[I].Above;
      if (std::abs(Step) < Most)
        Side = std::min(Side + Left * std::abs(Step), Most);
    }
  }
  return Out;
}

} // namespace restride::cost
