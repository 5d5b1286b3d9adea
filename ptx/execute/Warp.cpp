#include "ptx/execute/Warp.h"

#include "ptx/execute/Exchange.h"

#include "llvm/ADT/STLExtras.h"

#include <bit>

using namespace restride::ptx;

Warp::Warp(const Program &P, const LaunchFacts &Facts, Dim3 BlockIndex, unsigned Number, const ExecuteLimits &Limits,
           RequestSink Each)
    : P(P), Facts(Facts), BlockIndex(BlockIndex), Number(Number), Limits(Limits), Each(Each),
      Memory(P, Facts, linearBlock(BlockIndex) * warpsPerBlock() + Number), Loops(P), Recorded(P.Ops.size()) {
  R.Values.resize(P.Registers + P.Constants.size());
  R.Unknown.resize(R.Values.size());
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
  const uint32_t Holds = lowestBits(R.Values[Op.Guard]);
  return Mask & (Op.GuardNegated ? ~Holds : Holds);
}

void Warp::record(unsigned Index, Request &Seen) {
  // After the limit a few more of each instruction, so that none is without.
  constexpr uint8_t KeptLater = 2;
  if (Requests >= Limits.MaxRequests) {
    slowDown();
    if (Recorded[Index] >= KeptLater)
      return;
  }
  Recorded[Index] = std::min<uint8_t>(Recorded[Index] + 1, KeptLater);
  Seen.Instruction = Index;
  Seen.Level = Level;
  ++Requests;
  Each(Seen);
}

void Warp::execute(unsigned Index, uint32_t Mask, bool Records) {
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
    if (Memory.access(Op, Mask, R, Seen) && Records)
      record(Index, Seen);
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
    compute(P, Op, Mask, Op.Op == Opcode::Cvt && Op.SrcFloat ? Memory.data(Op, 0) : DataIntegers(), R);
  }
}

void Warp::go(unsigned From, unsigned To, uint32_t Mask) {
  if (!Mask || To >= P.C.Blocks.size())
    return;
  Loops.enter(int(From), To);
  auto At = llvm::find_if(Groups, [&](const LaneGroup &G) { return P.Rank[G.Block] <= P.Rank[To]; });
  if (At != Groups.end() && At->Block == To)
    At->Mask |= Mask;
  else
    Groups.insert(At, {To, Mask});
}

void Warp::warn(std::string What) {
  if (!llvm::is_contained(Trace.Warnings, What))
    Trace.Warnings.push_back(std::move(What));
}

void Warp::leaveLoops(unsigned From) {
  for (int L = P.C.LoopOf[From]; L >= 0; L = P.C.Loops[L].Parent) {
    if (llvm::any_of(Groups, [&](const LaneGroup &G) { return P.C.inLoop(G.Block, L); }))
      return;
    Loops.leave(L);
  }
}

void Warp::step(unsigned Number, uint32_t Mask) {
  const Block &B = P.C.Blocks[Number];
  ++Trace.BlockVisits[Number];
  Loops.visit(Number, Requests);
  Level = Loops.level(P.C.LoopOf[Number]);
  const bool Records = !Loops.walksBefore(P.C.LoopOf[Number], Limits.WalkStart);
  Issued += std::max(B.End - B.Begin, 1u);
  for (unsigned I = B.Begin; I < B.End; ++I) {
    const MicroOp &Op = P.Ops[I];
    if (Op.IsIdle)
      continue;
    const uint32_t Active = guarded(Op, Mask);
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
      if (Index >= 0 && (R.Unknown[Index] & Active))
        warn("a jump through a table goes by data: its " + std::to_string(Table.size()) + " targets are taken as equally likely");
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
        execute(I, Active, Records);
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
    const LaneGroup Next = Groups.pop_back_val();
    step(Next.Block, Next.Mask);
    if (Issued > Limits.MaxInstructions)
      slowDown();
    if (Issued / 2 > Limits.MaxInstructions) {
      Trace.Warnings.push_back("stopped after " + std::to_string(Issued) +
                               " instructions, in a loop without a known end");
      break;
    }
  }
  Loops.finish(Trace);
  for (LoopTrips &L : Trace.Loops)
    L.Runs &= Memory.tookMeanRuns();
  return std::move(Trace);
}
