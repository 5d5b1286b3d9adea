#include "ptx/Execute.h"

#include "ptx/Exchange.h"
#include "ptx/LoopTracker.h"
#include "ptx/WarpMemory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <bit>

using namespace restride::ptx;

namespace {

/// Lanes that wait to execute a block.
struct Group {
  unsigned Block = 0;
  uint32_t Mask = 0;
};

/// One warp while it runs.
class Warp {
public:
  Warp(const Program &P, const LaunchFacts &Facts, Dim3 BlockIndex, unsigned Number, const ExecuteLimits &Limits);
  WarpTrace run();

private:
  uint64_t linearBlock(Dim3 I) const { return (uint64_t(I.Z) * Facts.Grid.Y + I.Y) * Facts.Grid.X + I.X; }
  uint64_t warpsPerBlock() const { return std::max<uint64_t>((Facts.Block.count() + 31) / 32, 1); }
  uint64_t special(Special Which, unsigned Lane) const;
  void fillConstants();

  /// Executes a block for \p Mask and puts its lanes where they go next.
  void step(unsigned Block, uint32_t Mask);
  /// Executes one instruction that is no branch.
  void execute(unsigned Index, uint32_t Mask);
  uint32_t guarded(const MicroOp &Op, uint32_t Mask) const;
  void record(unsigned Index, Request &&R);

  /// Whether the value of a parameter is a guess: a guard on it decides nothing.
  bool isAssumed(unsigned Position) const {
    return Position >= Facts.Arguments.size() || !Facts.Arguments[Position];
  }
  /// Lanes of \p Mask that take the branch, given those whose predicate holds.
  uint32_t decide(const BranchInfo &Info, const MicroOp &Op, uint32_t Mask, uint32_t Taken);
  /// The same for a branch around a loop that depends on data: the loop runs.
  uint32_t enterLoop(const BranchInfo &Info, const MicroOp &Op, uint32_t Unknown, uint32_t Taken) const;
  /// The same seen from the loop: which lanes stay.
  uint32_t stayInCounted(int L, uint32_t Stay);
  uint32_t stayOnData(const BranchInfo &Info, uint32_t Stay, uint32_t Unknown);
  int64_t sum(const Step &S, unsigned Lane, unsigned Bits) const;
  void advance(const LoopInfo &L, unsigned Lane, uint64_t Trips);

  void go(unsigned From, unsigned To, uint32_t Mask);
  void leaveLoops(unsigned From);
  void slowDown() { Trace.Truncated = Hurry = true; }

  const Program &P;
  const LaunchFacts &Facts;
  const Dim3 BlockIndex;
  const unsigned Number;
  const ExecuteLimits Limits;
  RegisterFile R;
  WarpMemory Memory;
  LoopTracker Loops;
  llvm::SmallVector<Group, 8> Groups; ///< by falling rank: the next one is last
  WarpTrace Trace;
  uint64_t Issued = 0;
  bool Hurry = false; ///< a limit is reached: one trip per loop from here on
  std::vector<uint8_t> Recorded; ///< per instruction: requests kept after the limit
};

} // namespace

Warp::Warp(const Program &P, const LaunchFacts &Facts, Dim3 BlockIndex, unsigned Number, const ExecuteLimits &Limits)
    : P(P), Facts(Facts), BlockIndex(BlockIndex), Number(Number), Limits(Limits),
      Memory(P, Facts, linearBlock(BlockIndex) * warpsPerBlock() + Number), Loops(P), Recorded(P.Ops.size()) {
  R.Values.resize(P.Registers + P.Constants.size());
  R.Unknown.resize(R.Values.size());
  Trace.ActiveLanes.resize(P.Ops.size());
  Trace.BlockVisits.resize(P.C.Blocks.size());
  Trace.Warnings = P.Warnings;
  fillConstants();
}

uint64_t Warp::special(Special Which, unsigned Lane) const {
  const uint64_t Thread = uint64_t(Number) * 32 + Lane;
  const Dim3 &B = Facts.Block, &G = Facts.Grid;
  switch (Which) {
  case Special::TidX:
    return Thread % std::max(B.X, 1u);
  case Special::TidY:
    return Thread / std::max(B.X, 1u) % std::max(B.Y, 1u);
  case Special::TidZ:
    return Thread / std::max<uint64_t>(uint64_t(B.X) * B.Y, 1);
  case Special::NtidX:
    return B.X;
  case Special::NtidY:
    return B.Y;
  case Special::NtidZ:
    return B.Z;
  case Special::CtaidX:
    return BlockIndex.X;
  case Special::CtaidY:
    return BlockIndex.Y;
  case Special::CtaidZ:
    return BlockIndex.Z;
  case Special::NctaidX:
    return G.X;
  case Special::NctaidY:
    return G.Y;
  case Special::NctaidZ:
    return G.Z;
  case Special::LaneId:
    return Lane;
  case Special::WarpId:
    return Number;
  case Special::WarpCount:
    return warpsPerBlock();
  case Special::LaneMaskEq:
    return uint64_t(1) << Lane;
  case Special::LaneMaskLe:
    return (uint64_t(2) << Lane) - 1;
  case Special::LaneMaskLt:
    return (uint64_t(1) << Lane) - 1;
  case Special::LaneMaskGe:
    return 0xffffffff & ~((uint64_t(1) << Lane) - 1);
  case Special::LaneMaskGt:
    return 0xffffffff & ~((uint64_t(2) << Lane) - 1);
  case Special::DynamicShared:
    return Facts.DynamicSharedBytes;
  case Special::One:
    return 1;
  case Special::Zero:
  case Special::Unpredictable:
    return 0;
  }
  return 0;
}

void Warp::fillConstants() {
  for (size_t I = 0; I < P.Constants.size(); ++I) {
    const ConstantSlot &C = P.Constants[I];
    Lanes &V = R.Values[P.Registers + I];
    V.fill(C.Value);
    if (!C.IsSpecial)
      continue;
    for (unsigned L = 0; L < 32; ++L)
      V[L] = special(C.Which, L);
    if (C.Which == Special::Unpredictable)
      R.Unknown[P.Registers + I] = ~0u;
  }
}

uint32_t Warp::guarded(const MicroOp &Op, uint32_t Mask) const {
  if (Op.Guard < 0)
    return Mask;
  const Lanes &V = R.Values[Op.Guard];
  uint32_t Holds = 0;
  for (unsigned L = 0; L < 32; ++L)
    Holds |= uint32_t(V[L] & 1) << L;
  return Mask & (Op.GuardNegated ? ~Holds : Holds);
}

void Warp::record(unsigned Index, Request &&Seen) {
  // After the limit a few more of each instruction, so that none is without.
  constexpr uint8_t KeptLater = 2;
  if (Trace.Requests.size() >= Limits.MaxRequests) {
    slowDown();
    if (Recorded[Index] >= KeptLater)
      return;
  }
  Recorded[Index] = std::min<uint8_t>(Recorded[Index] + 1, KeptLater);
  Seen.Instruction = Index;
  Trace.Requests.push_back(std::move(Seen));
}

void Warp::execute(unsigned Index, uint32_t Mask) {
  const MicroOp &Op = P.Ops[Index];
  switch (Op.Op) {
  case Opcode::Ld:
  case Opcode::St:
  case Opcode::Atom:
  case Opcode::Red:
  case Opcode::CpAsync:
  case Opcode::LdParam:
  case Opcode::StParam: {
    Request Seen;
    if (Memory.access(Op, Mask, R, Seen))
      record(Index, std::move(Seen));
    return;
  }
  case Opcode::Shfl:
  case Opcode::Vote:
  case Opcode::Match:
  case Opcode::Redux:
  case Opcode::Activemask:
  case Opcode::Elect:
    return exchange(P, Op, Mask, R);
  case Opcode::Call:
    return Memory.call(P.F.Body[Index], Mask);
  default:
    if (Op.DestCount)
      compute(P, Op, Mask, Facts.Elements, R);
  }
}

int64_t Warp::sum(const Step &S, unsigned Lane, unsigned Bits) const {
  uint64_t Total = uint64_t(S.Constant);
  for (const Step::Term &T : S.Terms) {
    const uint64_t V = uint64_t(signExtend(R.Values[T.Reg][Lane], Bits));
    Total += T.Subtract ? 0 - V : V;
  }
  return int64_t(Total);
}

void Warp::advance(const LoopInfo &L, unsigned Lane, uint64_t Trips) {
  for (const Induction &I : L.Inductions.Registers) {
    uint64_t &V = R.Values[I.Reg][Lane];
    V = lowBits(V + Trips * uint64_t(sum(I.By, Lane, I.Bits)), I.Bits);
  }
}

uint32_t Warp::stayInCounted(int Number, uint32_t Stay) {
  const LoopInfo &L = P.Loops[Number];
  const ExitTest &T = *L.Inductions.Test;
  Loops.markCounted(Number);
  const uint64_t Cap = Hurry ? 1 : std::max<uint64_t>(Limits.MaxTripsPerLoop, 1);
  if (!Stay || Loops.trips(Number) < Cap)
    return Stay;
  std::array<uint64_t, 32> Left{};
  uint64_t Most = 0;
  for (uint32_t Rest = Stay; Rest; Rest &= Rest - 1) {
    const unsigned Lane = unsigned(std::countr_zero(Rest));
    const uint64_t Value = R.Values[T.Index][Lane] - uint64_t(sum(T.SinceCompare, Lane, T.Bits));
    const std::optional<uint64_t> Trips =
        tripsLeft(Value, R.Values[L.Bound][Lane], sum(T.By, Lane, T.Bits), T);
    if (!Trips)
      return Hurry ? 0 : Stay;
    Left[Lane] = *Trips;
    Most = std::max(Most, *Trips);
  }
  for (uint32_t Rest = Stay; Rest; Rest &= Rest - 1) {
    const unsigned Lane = unsigned(std::countr_zero(Rest));
    advance(L, Lane, Left[Lane]);
  }
  Loops.cut(Number, Most);
  return 0;
}

uint32_t Warp::stayOnData(const BranchInfo &Info, uint32_t Stay, uint32_t Unknown) {
  const LoopInfo &L = P.Loops[Info.ExitLoop];
  Loops.markDataExit(Info.ExitLoop);
  const bool ExitLeavesFunction = Info.Leaves == (Info.TakenExits ? 1 : 2);
  if (!Info.IsCounted && ExitLeavesFunction && L.HasOtherExit)
    return Stay | Unknown; // a guard inside the loop
  const uint64_t Cap = std::max<uint64_t>(Limits.DataLoopTrips / (Info.IsCounted ? L.Unroll : 1), 1);
  if (Loops.trips(Info.ExitLoop) >= Cap)
    return Stay & ~Unknown;
  if (Info.IsCounted && L.Inductions.Test->Stay == Relation::NotEqual) {
    // What an unrolled loop leaves over counts down from a few: as computed.
    const ExitTest &T = *L.Inductions.Test;
    uint32_t Counts = 0;
    for (uint32_t Rest = Unknown; Rest; Rest &= Rest - 1) {
      const unsigned Lane = unsigned(std::countr_zero(Rest));
      const uint64_t Value = R.Values[T.Index][Lane] - uint64_t(sum(T.SinceCompare, Lane, T.Bits));
      Counts |= uint32_t(holds(T.Stay, Value, R.Values[L.Bound][Lane], T.Bits, T.Signed)) << Lane;
    }
    return (Stay & ~Unknown) | Counts;
  }
  return Stay | Unknown;
}

uint32_t Warp::enterLoop(const BranchInfo &Info, const MicroOp &Op, uint32_t Unknown, uint32_t Taken) const {
  const MicroOp *Setp = Info.Compare >= 0 ? &P.Ops[size_t(Info.Compare)] : nullptr;
  if (!Setp || Setp->SrcFloat || (Setp->Compare != Relation::Equal && Setp->Compare != Relation::NotEqual))
    return Info.SkipsLoop == 1 ? Taken & ~Unknown : Taken | Unknown;
  // Whether an unrolled loop leaves anything over, `(n & 3) == 0`: as computed.
  const Slot A = P.Slots[Setp->FirstSrc], B = P.Slots[Setp->FirstSrc + 1];
  uint32_t Holds = 0;
  for (uint32_t Rest = A < 0 || B < 0 ? 0 : Unknown; Rest; Rest &= Rest - 1) {
    const unsigned L = unsigned(std::countr_zero(Rest));
    Holds |= uint32_t(holds(Setp->Compare, R.Values[A][L], R.Values[B][L], Setp->SrcBits, Setp->SrcSigned)) << L;
  }
  return (Taken & ~Unknown) | (Op.GuardNegated ? Unknown & ~Holds : Holds);
}

uint32_t Warp::decide(const BranchInfo &Info, const MicroOp &Op, uint32_t Mask, uint32_t Taken) {
  if (Op.Guard < 0)
    return Mask;
  uint32_t Unknown = R.Unknown[Op.Guard] & Mask;
  if (Info.ExitLoop < 0) {
    if (Unknown && Info.SkipsLoop)
      return enterLoop(Info, Op, Unknown, Taken);
    if (llvm::any_of(Info.Parameters, [&](unsigned Position) { return isAssumed(Position); }))
      Unknown = Mask;
    if (Info.Leaves == 1)
      return Taken & ~Unknown;
    return Info.Leaves == 2 ? Taken | Unknown : Taken;
  }
  uint32_t Stay = Info.TakenExits ? Mask & ~Taken : Taken;
  if (Unknown)
    Stay = stayOnData(Info, Stay, Unknown);
  else if (Info.IsCounted)
    Stay = stayInCounted(Info.ExitLoop, Stay);
  if (Hurry)
    Stay = 0;
  return Info.TakenExits ? Mask & ~Stay : Stay;
}

void Warp::go(unsigned From, unsigned To, uint32_t Mask) {
  if (!Mask || To >= P.C.Blocks.size())
    return;
  Loops.enter(int(From), To);
  auto At = llvm::find_if(Groups, [&](const Group &G) { return P.Rank[G.Block] <= P.Rank[To]; });
  if (At != Groups.end() && At->Block == To)
    At->Mask |= Mask;
  else
    Groups.insert(At, {To, Mask});
}

void Warp::leaveLoops(unsigned From) {
  for (int L = P.C.LoopOf[From]; L >= 0; L = P.C.Loops[L].Parent) {
    if (llvm::any_of(Groups, [&](const Group &G) { return P.C.inLoop(G.Block, L); }))
      return;
    Loops.leave(L);
  }
}

void Warp::step(unsigned Number, uint32_t Mask) {
  const Block &B = P.C.Blocks[Number];
  ++Trace.BlockVisits[Number];
  Loops.visit(Number);
  Issued += std::max(B.End - B.Begin, 1u);
  for (unsigned I = B.Begin; I < B.End; ++I) {
    const MicroOp &Op = P.Ops[I];
    const uint32_t Active = guarded(Op, Mask);
    Trace.ActiveLanes[I] += unsigned(std::popcount(Active));
    switch (Op.Op) {
    case Opcode::Bra: {
      const BranchInfo &Info = P.Branches[Number];
      const uint32_t Taken = decide(Info, Op, Mask, Active);
      go(Number, Info.Taken, Taken);
      go(Number, Info.Next, Mask & ~Taken);
      return leaveLoops(Number);
    }
    case Opcode::BrxIdx: {
      const std::vector<uint32_t> &Table = P.Tables[size_t(Op.Offset)];
      const Slot Index = Op.SrcCount ? P.Slots[Op.FirstSrc] : -1;
      for (uint32_t Rest = Table.empty() ? 0 : Active; Rest; Rest &= Rest - 1) {
        const unsigned L = unsigned(std::countr_zero(Rest));
        go(Number, Table[size_t((Index < 0 ? 0 : R.Values[Index][L]) % Table.size())], uint32_t(1) << L);
      }
      go(Number, Number + 1, Mask & ~Active);
      return leaveLoops(Number);
    }
    case Opcode::Ret:
    case Opcode::Exit:
    case Opcode::Trap:
      Mask &= ~Active;
      break;
    default:
      if (Active)
        execute(I, Active);
    }
  }
  go(Number, Number + 1, Mask);
  leaveLoops(Number);
}

WarpTrace Warp::run() {
  const uint64_t Threads = Facts.Block.count(), First = uint64_t(Number) * 32;
  const uint64_t Here = Threads > First ? std::min<uint64_t>(Threads - First, 32) : 0;
  if (Here && !P.C.Blocks.empty()) {
    Loops.enter(-1, 0);
    Groups.push_back({0, Here == 32 ? ~0u : (uint32_t(1) << Here) - 1});
  }
  while (!Groups.empty()) {
    const Group Next = Groups.pop_back_val();
    step(Next.Block, Next.Mask);
    if (Issued > Limits.MaxInstructions)
      slowDown();
    if (Issued / 2 > Limits.MaxInstructions) {
      Trace.Warnings.push_back("stopped after " + std::to_string(Issued) + " instructions, in a loop without a known end");
      break;
    }
  }
  Loops.finish();

  Trace.BlockWeight = Loops.weights();
  Trace.Loops = Loops.loops();
  Trace.Executions.resize(P.Ops.size());
  for (unsigned B = 0; B < P.C.Blocks.size(); ++B)
    for (unsigned I = P.C.Blocks[B].Begin; I < P.C.Blocks[B].End; ++I)
      Trace.Executions[I] = Trace.BlockVisits[B];
  return std::move(Trace);
}

WarpExecutor::WarpExecutor(const Function &F, const ControlFlow &C) : P(std::make_unique<Program>(F, C)) {}
WarpExecutor::~WarpExecutor() = default;
WarpExecutor::WarpExecutor(WarpExecutor &&) noexcept = default;

WarpTrace WarpExecutor::run(const LaunchFacts &L, Dim3 BlockIndex, unsigned Number, const ExecuteLimits &Limits) const {
  return Warp(*P, L, BlockIndex, Number, Limits).run();
}

WarpTrace restride::ptx::execute(const Function &F, const ControlFlow &C, const LaunchFacts &L, Dim3 BlockIndex,
                                 unsigned Number, const ExecuteLimits &Limits) {
  return WarpExecutor(F, C).run(L, BlockIndex, Number, Limits);
}

std::string restride::ptx::dump(const Function &F, const WarpTrace &T) {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  OS << F.Name << (T.Truncated ? " truncated" : "") << '\n';
  for (size_t B = 0; B < T.BlockVisits.size(); ++B)
    OS << "  block " << B << " visits " << T.BlockVisits[B] << " weight " << llvm::format("%g", T.BlockWeight[B]) << '\n';
  for (size_t L = 0; L < T.Loops.size(); ++L)
    OS << "  loop " << L << " entries " << T.Loops[L].Entries << " executed " << T.Loops[L].Executed << " true "
       << llvm::format("%g", T.Loops[L].True) << (T.Loops[L].Entries && !T.Loops[L].Known ? " (data)" : "") << '\n';
  for (const Request &R : T.Requests) {
    OS << "  " << R.Instruction << ": " << F.Body[R.Instruction].Mnemonic << llvm::format(" mask %08x", R.Mask)
       << (R.DependsOnLoad ? " indirect" : "");
    for (unsigned L = 0; L < 32; ++L)
      if (R.Mask >> L & 1)
        OS << llvm::format(" %llx", (unsigned long long)R.Address[L]);
    OS << '\n';
  }
  for (const std::string &W : T.Warnings)
    OS << "  warning: " << W << '\n';
  return Text;
}
