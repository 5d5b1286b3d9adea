#include "ptx/execute/LoopTracker.h"

using namespace restride::ptx;

LoopTracker::LoopTracker(const Program &P)
    : P(P), States(P.C.Loops.size()), Totals(P.C.Loops.size()), Starts(P.C.Loops.size()), Weights(P.C.Blocks.size()) {
  for (unsigned L = 0; L < P.C.Loops.size(); ++L)
    States[L].Visits.resize(P.C.Loops[L].Blocks.size());
}

void LoopTracker::enter(int From, unsigned To) {
  for (int L = P.C.LoopOf[To]; L >= 0; L = P.C.Loops[L].Parent) {
    if (States[L].Active || (From >= 0 && P.C.inLoop(unsigned(From), L)))
      continue;
    State &S = States[L];
    S.Active = true;
    S.HeaderVisits = 0;
    S.DataBranch = false;
    S.Scale = 1;
    S.TrueTrips = 0;
  }
}

void LoopTracker::visit(unsigned Block, size_t Requests) {
  const int L = P.C.LoopOf[Block];
  if (L < 0) {
    Weights[Block] += 1;
    return;
  }
  States[L].Visits[P.PlaceInLoop[Block]] += 1;
  if (P.C.Loops[L].Header != Block)
    return;
  Starts[L].push_back({Requests, States[L].HeaderVisits == 0});
  ++States[L].HeaderVisits;
}

uint64_t LoopTracker::trips(int L) const {
  const std::optional<ExitTest> &Test = P.Loops[L].Inductions.Test;
  const uint64_t Visits = States[L].HeaderVisits;
  return Test && Test->TestsAtTop && Visits ? Visits - 1 : Visits;
}

bool LoopTracker::isWalk(int L) const { return P.Loops[L].Walks && (States[L].DataExit || P.Loops[L].Walks->Decides); }

bool LoopTracker::walksBefore(int L, uint64_t Start) const {
  for (; Start && L >= 0; L = P.C.Loops[L].Parent)
    if (isWalk(L) && !P.Loops[L].Walks->Decides && States[L].HeaderVisits > 1 && States[L].HeaderVisits <= Start)
      return true;
  return false;
}

uint8_t LoopTracker::level(int L) const {
  for (; L >= 0; L = P.C.Loops[L].Parent)
    if (P.Loops[L].Walks && P.Loops[L].Walks->Decides)
      return uint8_t(std::min<uint64_t>(States[L].HeaderVisits, UINT8_MAX));
  return 0;
}

void LoopTracker::cut(int L, uint64_t Left) {
  const uint64_t Done = trips(L);
  States[L].TrueTrips = double(Done) + double(Left);
  States[L].Scale = Done ? States[L].TrueTrips / double(Done) : 1;
}

void LoopTracker::hurry(int L) {
  const LoopTrips &Before = Totals[L];
  if (!Before.Entries || Before.Hurried) {
    Totals[L].Hurried = true;
    return;
  }
  const uint64_t Mean = uint64_t(Before.True / double(Before.Entries) + 0.5);
  cut(L, Mean - std::min(Mean, trips(L)));
}

void LoopTracker::markDataBranch(int L) {
  for (; L >= 0; L = P.C.Loops[L].Parent)
    States[L].DataBranch = true;
}

void LoopTracker::leave(int L) {
  State &S = States[L];
  if (!S.Active)
    return;
  S.Active = false;
  ++Totals[L].Entries;
  Totals[L].Executed += trips(L);
  Totals[L].True += S.TrueTrips > 0 ? S.TrueTrips : double(trips(L));
  Totals[L].Known = S.Counted && !S.DataExit;
  Totals[L].Walk |= isWalk(L);
  Totals[L].Runs = Totals[L].Known && P.Loops[L].Runs;
  Totals[L].Search = P.Loops[L].Looks.has_value();
  const Loop &Here = P.C.Loops[L];
  for (size_t I = 0; I < S.Visits.size(); ++I) {
    if (S.Visits[I] == 0)
      continue;
    double &To = Here.Parent >= 0 ? States[Here.Parent].Visits[P.Loops[L].PlaceInParent[I]] : Weights[Here.Blocks[I]];
    To += S.Visits[I] * S.Scale;
    S.Visits[I] = 0;
  }
}

void LoopTracker::finish(WarpTrace &Trace) {
  for (int L = int(States.size()) - 1; L >= 0; --L) // inner loops come later
    leave(L);
  Trace.BlockWeight = std::move(Weights);
  Trace.Loops = std::move(Totals);
  Trace.TripStarts = std::move(Starts);
}
