#include "ptx/Program.h"

#include "ptx/PointerFlow.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <set>

using namespace restride::ptx;
using llvm::StringRef;

static Special parseSpecial(StringRef Name) {
  return llvm::StringSwitch<Special>(Name)
      .Cases({"%tid.x", "%tid"}, Special::TidX)
      .Case("%tid.y", Special::TidY)
      .Case("%tid.z", Special::TidZ)
      .Cases({"%ntid.x", "%ntid"}, Special::NtidX)
      .Case("%ntid.y", Special::NtidY)
      .Case("%ntid.z", Special::NtidZ)
      .Cases({"%ctaid.x", "%ctaid", "%clusterid.x"}, Special::CtaidX)
      .Cases({"%ctaid.y", "%clusterid.y"}, Special::CtaidY)
      .Cases({"%ctaid.z", "%clusterid.z"}, Special::CtaidZ)
      .Cases({"%nctaid.x", "%nctaid", "%nclusterid.x"}, Special::NctaidX)
      .Cases({"%nctaid.y", "%nclusterid.y"}, Special::NctaidY)
      .Cases({"%nctaid.z", "%nclusterid.z"}, Special::NctaidZ)
      .Case("%laneid", Special::LaneId)
      .Case("%warpid", Special::WarpId)
      .Case("%nwarpid", Special::WarpCount)
      .Case("%lanemask_eq", Special::LaneMaskEq)
      .Case("%lanemask_le", Special::LaneMaskLe)
      .Case("%lanemask_lt", Special::LaneMaskLt)
      .Case("%lanemask_ge", Special::LaneMaskGe)
      .Case("%lanemask_gt", Special::LaneMaskGt)
      .Cases({"%dynamic_smem_size", "%total_smem_size"}, Special::DynamicShared)
      .Cases({"%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z", "%cluster_nctarank"}, Special::One)
      .Cases({"%clock", "%clock64", "%clock_hi", "%globaltimer", "%globaltimer_lo", "%smid"}, Special::Unpredictable)
      .Default(Special::Zero);
}

Slot Program::constant(uint64_t Value) {
  // DenseMap keeps two keys for itself.
  const bool Reserved = Value >= ~uint64_t(1);
  if (!Reserved)
    if (auto At = LiteralSlot.find(Value); At != LiteralSlot.end())
      return At->second;
  Constants.push_back({false, Special::Zero, Value});
  Slot S = Slot(Registers + Constants.size() - 1);
  if (!Reserved)
    LiteralSlot[Value] = S;
  return S;
}

Slot Program::slot(const Operand &Op) {
  switch (Op.K) {
  case Operand::Register:
    return Op.Reg;
  case Operand::Immediate:
  case Operand::FloatImmediate:
    return constant(uint64_t(Op.Imm));
  case Operand::Symbol:
  case Operand::Address:
    if (Op.Reg >= 0)
      return Op.Reg;
    if (StringRef(Op.Name).starts_with("%")) {
      Constants.push_back({true, parseSpecial(Op.Name), 0});
      return Slot(Registers + Constants.size() - 1);
    }
    if (Op.Name.empty()) // [16]: the offset is all there is
      return constant(0);
    return constant(Addresses.address(Op.Name) + (Op.K == Operand::Symbol ? uint64_t(Op.Imm) : 0));
  }
  return -1;
}

static Mode parseMode(const Instruction &I) {
  StringRef M = I.Mnemonic;
  switch (I.Op) {
  case Opcode::Shf:
    if (M.contains(".l."))
      return M.contains(".clamp") ? Mode::LeftClamp : Mode::Left;
    return M.contains(".clamp") ? Mode::RightClamp : Mode::Right;
  case Opcode::Shfl:
    return M.contains(".up")     ? Mode::Up
           : M.contains(".down") ? Mode::Down
           : M.contains(".bfly") ? Mode::Butterfly
                                 : Mode::Index;
  case Opcode::Vote:
    return M.contains(".ballot") ? Mode::Ballot
           : M.contains(".all")  ? Mode::All
           : M.contains(".uni")  ? Mode::Uniform
                                 : Mode::Any;
  case Opcode::Match:
    return M.contains(".all") ? Mode::All : Mode::Any;
  case Opcode::Redux:
    return M.contains(".min")   ? Mode::Min
           : M.contains(".max") ? Mode::Max
           : M.contains(".and") ? Mode::And
           : M.contains(".xor") ? Mode::Xor
           : M.contains(".or")  ? Mode::Or
                                : Mode::Add;
  case Opcode::Atom:
    return M.contains(".add") || M.contains(".inc") ? Mode::Add : Mode::None;
  case Opcode::Cvta:
    return M.contains(".to.") ? Mode::ToSpace : Mode::None;
  case Opcode::Bfind:
    return M.contains(".shiftamt") ? Mode::ShiftAmount : Mode::None;
  default:
    return Mode::None;
  }
}

static uint8_t parseVariant(const Instruction &I) {
  StringRef M = I.Mnemonic;
  if (I.Op == Opcode::Setp || I.Op == Opcode::Set)
    return uint8_t(M.contains(".and.") ? Join::And : M.contains(".or.") ? Join::Or : M.contains(".xor.") ? Join::Xor : Join::None);
  if (I.Op == Opcode::Add || I.Op == Opcode::Sub)
    return (M.starts_with("addc") || M.starts_with("subc") ? ReadsCarry : 0) | (M.contains(".cc") ? WritesCarry : 0);
  return uint8_t(parseMode(I));
}

MicroOp Program::decode(unsigned Index, const llvm::BitVector &Pointers) {
  const Instruction &I = F.Body[Index];
  auto Width = [](unsigned Bits) { return uint8_t(std::min(Bits, 64u)); };
  MicroOp Op;
  Op.Op = I.Op;
  Op.Mem = I.Mem;
  Op.Bits = Width(I.Ty.Bits);
  Op.SrcBits = Width(I.SrcTy.Bits);
  Op.Signed = I.Ty.K == Type::Signed;
  Op.SrcSigned = I.SrcTy.K == Type::Signed;
  Op.Float = I.Ty.K == Type::Float;
  Op.SrcFloat = I.SrcTy.K == Type::Float;
  Op.Variant = parseVariant(I);
  bool Unsigned = false;
  Op.Compare = parseRelation(I.Compare, Unsigned).value_or(Relation::Equal);
  Op.SrcSigned &= !Unsigned;
  Op.Guard = I.Guard;
  Op.GuardNegated = I.GuardNegated;
  Op.ElementBytes = uint8_t(std::min(I.Ty.bytes(), 16u));
  Op.Vector = uint8_t(std::min(I.Vector, 16u));
  if (I.Addr) {
    Op.Address = slot(*I.Addr);
    Op.Offset = I.Addr->Imm;
  }
  constexpr size_t MaxOperands = 64;
  Op.FirstDest = uint32_t(Slots.size());
  for (const Operand &D : llvm::ArrayRef(I.Dest).take_front(MaxOperands)) {
    Slots.push_back(D.K == Operand::Register ? slot(D) : -1);
    Op.IsPointer |= D.K == Operand::Register && D.Reg >= 0 && Pointers[D.Reg];
    ++Op.DestCount;
  }
  Op.FirstSrc = uint32_t(Slots.size());
  for (const Operand &S : llvm::ArrayRef(I.Src).take_front(MaxOperands)) {
    if (S.Negated && Op.SrcCount < 8)
      Op.NegatedSources |= uint8_t(1u << Op.SrcCount);
    // Registers hold values cut to their width; -1 in the text is not.
    const uint8_t Wide = I.Op == Opcode::MadWide && Op.SrcCount == 2 ? Op.Bits : Op.SrcBits;
    const bool Cuts = S.K == Operand::Immediate && Wide && Wide < 64;
    Slots.push_back(Cuts ? constant(uint64_t(S.Imm) & ((uint64_t(1) << Wide) - 1)) : slot(S));
    ++Op.SrcCount;
  }
  if (I.Op == Opcode::Mov && I.Src.size() == 1 && I.Src[0].K == Operand::Symbol &&
      llvm::StringRef(I.Src[0].Name).starts_with("%"))
    Op.Bits = std::max<uint8_t>(Op.Bits, 32);
  return Op;
}

bool Program::leavesFunction(unsigned Block) const {
  constexpr unsigned MaxHops = 4;
  for (unsigned Hop = 0; Hop < MaxHops; ++Hop) {
    if (Block >= C.Blocks.size())
      return true;
    const struct Block &B = C.Blocks[Block];
    for (unsigned I = B.Begin; I < B.End; ++I)
      if (F.Body[I].isMemory() || F.Body[I].Op == Opcode::CpAsync)
        return false;
    if (B.Succs.empty())
      return true;
    if (B.Succs.size() > 1)
      return false;
    Block = B.Succs[0];
  }
  return false;
}

std::vector<int> Program::registersBehind(int Register) const {
  std::vector<int> Out, Work{Register};
  llvm::BitVector Seen(Registers);
  constexpr unsigned MaxRegisters = 64;
  while (!Work.empty() && Out.size() < MaxRegisters) {
    const int R = Work.back();
    Work.pop_back();
    if (R < 0 || R >= int(Registers) || Seen[unsigned(R)])
      continue;
    Seen.set(unsigned(R));
    Out.push_back(R);
    for (unsigned At : Writes[size_t(R)]) {
      const MicroOp &Op = Ops[At];
      if (Op.Op != Opcode::Ld && Op.Op != Opcode::LdParam)
        for (unsigned S = 0; S < Op.SrcCount; ++S)
          Work.push_back(Slots[Op.FirstSrc + S]);
    }
  }
  return Out;
}

std::vector<unsigned> Program::parametersBehind(int Register) const {
  std::vector<unsigned> Out;
  for (int R : registersBehind(Register))
    for (unsigned At : Writes[size_t(R)]) {
      const MicroOp &Op = Ops[At];
      if (Op.Op != Opcode::LdParam || Op.Address < int(Registers))
        continue;
      const uint64_t Offset = Constants[size_t(Op.Address) - Registers].Value + uint64_t(Op.Offset);
      if (const ParameterSlot *P = Addresses.parameterAt(Offset))
        Out.push_back(P->Position);
    }
  return Out;
}

/// `if (start < end)` before a loop from start to end: one side runs into the
/// loop, the other to where both meet, and both count with the same loaded data.
int8_t Program::skipsLoop(unsigned Block, const BranchInfo &Info, int Guard) const {
  if (Info.Next >= C.Blocks.size() || C.Ipdom[Block] < 0)
    return 0;
  const unsigned Meet = unsigned(C.Ipdom[Block]);
  if (Meet != Info.Taken && Meet != Info.Next)
    return 0;
  const unsigned Side = Meet == Info.Taken ? Info.Next : Info.Taken;
  auto Loads = [&](int Register) {
    std::vector<int> Out;
    for (int R : registersBehind(Register))
      if (llvm::any_of(Writes[size_t(R)], [&](unsigned At) { return Ops[At].Op == Opcode::Ld; }))
        Out.push_back(R);
    return Out;
  };
  for (unsigned L = 0; L < C.Loops.size(); ++L) {
    const std::optional<ExitTest> &Test = Loops[L].Inductions.Test;
    if (!Test || C.Loops[L].Parent != C.LoopOf[Block] || !C.dominates(Side, C.Loops[L].Header))
      continue;
    std::vector<int> Counts = Loads(Test->Counter);
    llvm::append_range(Counts, Loads(Loops[L].Bound));
    if (llvm::any_of(Loads(Guard), [&](int R) { return llvm::is_contained(Counts, R); }))
      return Meet == Info.Taken ? 1 : 2;
  }
  return 0;
}

void Program::decodeBranches() {
  const unsigned End = unsigned(C.Blocks.size());
  Branches.resize(End);
  for (unsigned B = 0; B < End; ++B) {
    const Block &Here = C.Blocks[B];
    BranchInfo &Info = Branches[B];
    Info.Taken = Info.Next = B + 1;
    if (Here.Begin == Here.End)
      continue;
    const Instruction &Last = F.Body[Here.End - 1];
    if (Last.Op == Opcode::BrxIdx) {
      std::vector<uint32_t> Table;
      for (const std::string &Target : Last.Targets)
        if (std::optional<unsigned> At = F.label(Target))
          Table.push_back(C.blockOf(*At));
      Ops[Here.End - 1].Offset = int64_t(Tables.size());
      Tables.push_back(std::move(Table));
      continue;
    }
    if (Last.Op != Opcode::Bra || Here.Succs.empty())
      continue;
    Info.Taken = Here.Succs[0];
    if (Here.Succs.size() < 2)
      continue;
    const bool TakenLeaves = leavesFunction(Info.Taken), NextLeaves = leavesFunction(Info.Next);
    if (TakenLeaves != NextLeaves)
      Info.Leaves = TakenLeaves ? 1 : 2;
    for (int L = C.LoopOf[B]; L >= 0 && Info.ExitLoop < 0; L = C.Loops[L].Parent) {
      const bool TakenStays = C.inLoop(Info.Taken, L), NextStays = C.inLoop(Info.Next, L);
      if (TakenStays == NextStays)
        continue;
      Info.ExitLoop = L;
      Info.TakenExits = !TakenStays;
      const std::optional<ExitTest> &Test = Loops[L].Inductions.Test;
      Info.IsCounted = Test && Test->Branch == Here.End - 1;
    }
    if (Info.ExitLoop >= 0 || Last.Guard < 0)
      continue;
    if (Info.Leaves)
      Info.Parameters = parametersBehind(Last.Guard);
    Info.SkipsLoop = skipsLoop(B, Info, Last.Guard);
    const std::vector<unsigned> &Decided = Writes[size_t(Last.Guard)];
    if (Decided.size() == 1 && Ops[Decided[0]].Op == Opcode::Setp && Ops[Decided[0]].SrcCount == 2)
      Info.Compare = int(Decided[0]);
  }
}

void Program::decodeLoops() {
  for (unsigned Number = 0; Number < C.Loops.size(); ++Number) {
    const Loop &L = C.Loops[Number];
    LoopInfo &Info = Loops.emplace_back();
    Info.Inductions = inductions(F, C, L);
    unsigned Exits = 0;
    for (unsigned B : L.Blocks)
      Exits += llvm::any_of(C.Blocks[B].Succs, [&](unsigned S) { return !C.inLoop(S, int(Number)); });
    Info.HasOtherExit = Exits > 1;
    if (!Info.Inductions.Test)
      continue;
    const ExitTest &T = *Info.Inductions.Test;
    Info.Bound = slot(T.Bound);
    // A counter that steps by 2 to 16 is more often unrolled than not; larger
    // steps are strides, and 64-bit counters are byte pointers.
    const int64_t By = T.By.Constant < 0 ? -T.By.Constant : T.By.Constant;
    if (T.Bits <= 32 && T.By.Terms.empty() && By >= 2 && By <= 16)
      Info.Unroll = uint64_t(By);
  }
}

void Program::orderBlocks() {
  const unsigned Count = unsigned(C.Blocks.size());
  std::vector<uint32_t> Position(Count, Count); // in reverse post-order
  std::vector<char> Seen(Count);
  std::vector<std::pair<unsigned, size_t>> Path;
  uint32_t Next = Count;
  for (unsigned Root = 0; Root < Count; ++Root) { // unreachable blocks last
    if (Seen[Root])
      continue;
    Seen[Root] = true;
    Path.emplace_back(Root, 0);
    while (!Path.empty()) {
      auto &[B, Child] = Path.back();
      const std::vector<unsigned> &Succs = C.Blocks[B].Succs;
      if (Child == Succs.size()) {
        Position[B] = --Next;
        Path.pop_back();
        continue;
      }
      unsigned S = Succs[Child++];
      if (!Seen[S]) {
        Seen[S] = true;
        Path.emplace_back(S, 0);
      }
    }
  }
  // Keep loops together: sort by the positions of the headers around a block.
  std::vector<std::vector<uint32_t>> Keys(Count);
  for (unsigned B = 0; B < Count; ++B) {
    Keys[B].push_back(Position[B]);
    for (int L = C.LoopOf[B]; L >= 0; L = C.Loops[L].Parent)
      Keys[B].push_back(Position[C.Loops[L].Header]);
    std::reverse(Keys[B].begin(), Keys[B].end());
  }
  std::vector<unsigned> Order(Count);
  for (unsigned B = 0; B < Count; ++B)
    Order[B] = B;
  llvm::sort(Order, [&](unsigned A, unsigned B) { return Keys[A] < Keys[B]; });
  Rank.resize(Count);
  for (unsigned I = 0; I < Count; ++I)
    Rank[Order[I]] = I;
}

void Program::findNonNegative() {
  NonNegative.resize(Registers, true);
  // Two passes: a copy of a copy is as far as it goes in practice.
  for (unsigned Pass = 0; Pass < 2; ++Pass)
    for (const Instruction &I : F.Body) {
      const bool Loads = I.Op == Opcode::Ld && I.Ty.K != Type::Float;
      const bool Copies = (I.Op == Opcode::Mov || I.Op == Opcode::Cvt) && I.Src.size() == 1 && I.Ty.K != Type::Float &&
                          I.SrcTy.K != Type::Float && I.Src[0].K == Operand::Register && I.Src[0].Reg >= 0 &&
                          NonNegative[I.Src[0].Reg];
      if (Loads || Copies)
        continue;
      for (const Operand &D : I.Dest)
        if (D.K == Operand::Register && D.Reg >= 0)
          NonNegative.reset(unsigned(D.Reg));
    }
}

Program::Program(const Function &F, const ControlFlow &C)
    : F(F), C(C), Addresses(F), Registers(unsigned(F.Registers.size())) {
  const llvm::BitVector Pointers = pointerRegisters(F);
  std::set<std::string> Calls;
  for (unsigned I = 0; I < F.Body.size(); ++I) {
    Ops.push_back(decode(I, Pointers));
    if (F.Body[I].Op == Opcode::Call)
      Calls.insert(F.Body[I].Target.empty() ? "a call through a register is not followed"
                                            : "the call of " + F.Body[I].Target + " is not followed");
  }
  Warnings.assign(Calls.begin(), Calls.end());
  llvm::append_range(Warnings, C.Warnings);
  decodeLoops();
  Writes.resize(Registers);
  for (unsigned I = 0; I < Ops.size(); ++I)
    for (unsigned D = 0; D < Ops[I].DestCount; ++D)
      if (Slot To = Slots[Ops[I].FirstDest + D]; To >= 0)
        Writes[size_t(To)].push_back(I);
  decodeBranches();
  Writes = {};
  orderBlocks();
  findNonNegative();
}
