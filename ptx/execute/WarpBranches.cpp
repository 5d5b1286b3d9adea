// Which way lanes go at a branch: guards, loops that are cut short, data.
#include "ptx/execute/Warp.h"

#include "llvm/ADT/STLExtras.h"

#include <bit>
#include <cmath>

using namespace restride::ptx;

static constexpr uint64_t WindowTrips = 3;
/// Of a loop through space, and down a tree with all that is laid aside.
static constexpr uint64_t MarchTrips = 128, StackTrips = 64;

int64_t Warp::sum(const Step &S, unsigned Lane, unsigned Bits) const {
  uint64_t Total = uint64_t(S.Constant);
  for (const Step::Term &T : S.Terms) {
    const uint64_t V = uint64_t(signExtend(R.Values[T.Reg][Lane], Bits));
    Total += T.Subtract ? 0 - V : V;
  }
  return int64_t(Total);
}

uint64_t Warp::counter(const LoopInfo &L, unsigned Lane) const {
  const ExitTest &T = *L.Inductions.Test;
  return R.Values[T.Index][Lane] - uint64_t(sum(T.SinceCompare, Lane, T.Bits));
}

std::optional<uint64_t> Warp::tripsLeftOf(const LoopInfo &L, unsigned Lane) const {
  const ExitTest &T = *L.Inductions.Test;
  return tripsLeft(counter(L, Lane), R.Values[L.Bound][Lane], sum(T.By, Lane, T.Bits), T);
}

void Warp::advance(const LoopInfo &L, unsigned Lane, uint64_t Trips) {
  for (const Induction &I : L.Inductions.Registers) {
    uint64_t &V = R.Values[I.Reg][Lane];
    V = lowBits(V + Trips * uint64_t(sum(I.By, Lane, I.Bits)), I.Bits);
  }
}

uint32_t Warp::stayInCounted(int Number, uint32_t Stay) {
  const LoopInfo &L = P.Loops[Number];
  Loops.markCounted(Number);
  const uint64_t Cap = Hurry ? 1 : std::max<uint64_t>(Limits.MaxTripsPerLoop, 1);
  if (!Stay || Loops.trips(Number) < Cap)
    return Stay;
  // One that data ends, too, does not go to its bound.
  const uint64_t ByData = Loops.endsByData(Number) ? Limits.DataLoopTrips - std::min(Limits.DataLoopTrips, Loops.trips(Number)) : UINT64_MAX;
  std::array<uint64_t, 32> Left{};
  uint64_t Most = 0;
  for (uint32_t Rest = Stay; Rest; Rest &= Rest - 1) {
    const unsigned Lane = unsigned(std::countr_zero(Rest));
    const std::optional<uint64_t> Trips = tripsLeftOf(L, Lane);
    if (!Trips)
      return Hurry || L.Tied ? 0 : Stay;
    Left[Lane] = std::min(*Trips, ByData);
    Most = std::max(Most, Left[Lane]);
  }
  for (uint32_t Rest = Stay; Rest; Rest &= Rest - 1) {
    const unsigned Lane = unsigned(std::countr_zero(Rest));
    advance(L, Lane, Left[Lane]);
  }
  Loops.cut(Number, Most);
  return 0;
}

uint32_t Warp::stayByCount(const LoopInfo &L, uint32_t Mask, std::optional<uint64_t> Bound) const {
  const ExitTest &T = *L.Inductions.Test;
  uint32_t Out = 0;
  for (uint32_t Rest = Mask; Rest; Rest &= Rest - 1) {
    const unsigned Lane = unsigned(std::countr_zero(Rest));
    Out |= uint32_t(holds(T.Stay, counter(L, Lane), Bound.value_or(R.Values[L.Bound][Lane]), T.Bits, T.Signed)) << Lane;
  }
  return Out;
}

/// `for (i = thread; i < *count; i += threads)`
bool Warp::stridesGrid(const LoopInfo &L, unsigned Lane) const {
  const ExitTest &T = *L.Inductions.Test;
  return T.Stay == Relation::Less && sum(T.By, Lane, T.Bits) == int64_t(Facts.Grid.count() * Facts.Block.count());
}

uint32_t Warp::stayOnData(const BranchInfo &Info, uint32_t Stay, uint32_t Unknown) {
  const LoopInfo &L = P.Loops[Info.ExitLoop];
  Loops.markDataExit(Info.ExitLoop);
  const bool ExitLeavesFunction = Info.Leaves == (Info.TakenExits ? 1 : 2);
  if (!Info.IsCounted && ExitLeavesFunction && L.HasOtherExit)
    return Stay | Unknown; // a guard inside the loop
  if ((L.Marches || L.ByStack) && Loops.trips(Info.ExitLoop) >= Limits.DataLoopTrips) {
    Loops.cut(Info.ExitLoop, (L.Marches ? MarchTrips : StackTrips) - Limits.DataLoopTrips);
    return Stay & ~Unknown;
  }
  const uint64_t Trips = Info.IsCounted && L.Window ? WindowTrips : Limits.DataLoopTrips;
  const uint64_t Cap = std::max<uint64_t>(Trips / (Info.IsCounted ? L.Unroll : 1), 1);
  if (Loops.trips(Info.ExitLoop) >= Cap)
    return Stay & ~Unknown;
  if (Info.IsCounted && L.Inductions.Test->Stay == Relation::NotEqual) // what an unrolled loop leaves over counts down from a few
    return (Stay & ~Unknown) | stayByCount(L, Unknown);
  if (Info.IsCounted && stridesGrid(L, unsigned(std::countr_zero(Unknown)))) // an element each, of at most all
    return (Stay & ~Unknown) | stayByCount(L, Unknown, Facts.Elements);
  return Stay | Unknown;
}

uint32_t Warp::enterLoop(const BranchInfo &Info, const MicroOp &Op, uint32_t Unknown, uint32_t Taken) const {
  const MicroOp *Setp = Info.Compare >= 0 ? &P.Ops[size_t(Info.Compare)] : nullptr;
  const bool IsEqual = Setp && (Setp->Compare == Relation::Equal || Setp->Compare == Relation::NotEqual);
  if (!Setp || Info.GoesOnAsIn || Setp->SrcFloat || (!IsEqual && !Memory.tookMeanRuns()))
    return Info.SkipsLoop == 1 ? Taken & ~Unknown : Taken | Unknown;
  // Whether an unrolled loop leaves anything over, `(n & 3) == 0`, or a run has any elements: as computed.
  const Slot A = P.Slots[Setp->FirstSrc], B = P.Slots[Setp->FirstSrc + 1];
  uint32_t Holds = 0;
  for (uint32_t Rest = A < 0 || B < 0 ? 0 : Unknown; Rest; Rest &= Rest - 1) {
    const unsigned L = unsigned(std::countr_zero(Rest));
    Holds |= uint32_t(holds(Setp->Compare, R.Values[A][L], R.Values[B][L], Setp->SrcBits, Setp->SrcSigned)) << L;
  }
  return (Taken & ~Unknown) | (Op.GuardNegated ? Unknown & ~Holds : Holds);
}

uint32_t Warp::drawLanes(const BranchInfo &Info, double Probability) const {
  const uint64_t Block = uint64_t(&Info - P.Branches.data());
  const uint64_t Seed = ((linearBlock(BlockIndex) * warpsPerBlock() + Number) << 32) + (Block << 24) + Trace.BlockVisits[Block];
  uint32_t Out = 0;
  for (unsigned L = 0; L < 32; ++L)
    Out |= uint32_t(fraction(scramble(Seed) + L) < Probability) << L;
  return Out;
}

double Warp::tripsOf(int Number, unsigned Lane) const {
  const LoopInfo &L = P.Loops[Number];
  if (!L.Inductions.Test || L.Bound < 0)
    return 1;
  return double(Loops.trips(Number)) + double(tripsLeftOf(L, Lane).value_or(1));
}

std::optional<double> Warp::appendProbability(const BranchInfo &Info, unsigned Lane) const {
  const uint64_t Room = Memory.elementsBehind(Info.Appends);
  if (!Room)
    return std::nullopt;
  double Visits = double(Facts.Grid.count()) * double(Facts.Block.count());
  for (int L = Info.Loop; L >= 0; L = P.C.Loops[L].Parent)
    Visits *= tripsOf(L, Lane);
  return double(Room) / Visits;
}

uint32_t Warp::searchOn(const BranchInfo &Info) const {
  const Search &S = *P.Loops[Info.SearchLoop].Looks;
  const uint64_t Trips = Loops.isActive(Info.SearchLoop) ? Loops.trips(Info.SearchLoop) : 0;
  if (Hurry || Trips >= Limits.DataLoopTrips)
    return 0;
  const uint64_t Tests = (std::max<uint64_t>(Trips, 1) - 1) * S.Tests.size() + Info.SearchPlace; // before this one
  const double AtAPlace = double(S.Tests.size()) / S.Places;
  return drawLanes(Info, std::pow(S.goesOn(uint64_t(double(Tests) / AtAPlace) + 1), 1 / AtAPlace));
}

uint32_t Warp::decided(int Register, bool Value) const {
  const uint32_t Holds = lowestBits(R.Values[Register]);
  return (Value ? Holds : ~Holds) & ~R.Unknown[Register];
}

uint32_t Warp::decide(const BranchInfo &Info, const MicroOp &Op, uint32_t Mask, uint32_t Taken) {
  if (Op.Guard < 0)
    return Mask;
  uint32_t Unknown = R.Unknown[Op.Guard] & Mask;
  if (Unknown)
    Loops.markDataBranch(Info.Loop);
  if (Info.SearchLoop >= 0 && Unknown) {
    Loops.markDataExit(Info.SearchLoop);
    const uint32_t On = searchOn(Info);
    return (Taken & ~Unknown) | (Unknown & (Info.TakenFinds ? ~On : On));
  }
  // A flag that different paths set to constants is data if the paths were, but for a search, whose tests are known.
  if (Info.ExitLoop >= 0 && Info.IsMerged && !P.Loops[Info.ExitLoop].Looks && Loops.hasDataBranch(Info.ExitLoop))
    Unknown = Mask;
  if (llvm::any_of(Info.Inner, [&](int L) { return Loops.endsByData(L); }))
    Unknown = Mask;
  for (auto [Register, Value] : Info.Deciders)
    Unknown &= ~decided(Register, Value);
  if (Info.ExitLoop < 0) {
    if (Unknown && Info.SkipsLoop)
      return enterLoop(Info, Op, Unknown, Taken);
    if ((Unknown && Info.LeavesBehindCount) || llvm::any_of(Info.Given, [&](const GivenWord &W) { return Memory.isAssumed(W); }))
      return Info.Leaves == 1 ? 0 : Mask; // a bounds check: it holds
    std::optional<double> Probability = Facts.BodyProbability;
    constexpr double Even = 0.5;
    if (const std::optional<double> Most = Unknown ? appendProbability(Info, unsigned(std::countr_zero(Unknown))) : std::nullopt; Most && *Most < Even)
      Probability = Most;
    if (Info.Body && Unknown && Probability) {
      const uint32_t Body = drawLanes(Info, *Probability);
      return (Taken & ~Unknown) | (Unknown & (Info.Body == 1 ? Body : ~Body));
    }
    return Taken;
  }
  uint32_t Stay = Info.TakenExits ? Mask & ~Taken : Taken;
  const bool Descends = P.isPlain(Op) && Loops.trips(Info.ExitLoop) < Limits.MaxTripsPerLoop;
  if (Descends)
    Unknown = 0;
  if (const LoopInfo &L = P.Loops[Info.ExitLoop]; Unknown && Info.IsCounted && (L.Tied || (L.Runs && Memory.tookMeanRuns()))) {
    Stay = (Stay & ~Unknown) | stayByCount(L, Unknown); // whichever run, or place, it is of
    Unknown = 0;
  }
  if (Unknown)
    Stay = stayOnData(Info, Stay, Unknown);
  else if (Info.IsCounted)
    Stay = stayInCounted(Info.ExitLoop, Stay);
  if (Hurry && !Descends && Stay) { // where a descent ends is asked for behind it
    Loops.hurry(Info.ExitLoop);
    Stay = 0;
  }
  return Info.TakenExits ? Mask & ~Stay : Stay;
}
