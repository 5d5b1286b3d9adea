// What can be said of loaded values without knowing them.
#include "ptx/execute/Program.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace restride::ptx;

/// `x & 7` and `x % 8`.
static bool keepsFewBits(const Instruction &I) {
  constexpr int64_t Most = 1024;
  auto IsSmall = [](const Operand &Op) { return Op.K == Operand::Immediate && Op.Imm > 0 && Op.Imm <= Most; };
  if (I.Src.size() != 2)
    return false;
  return (I.Op == Opcode::And && (IsSmall(I.Src[0]) || IsSmall(I.Src[1]))) ||
         (I.Op == Opcode::Rem && IsSmall(I.Src[1]));
}

void Program::findRanges() {
  NonNegative.resize(Registers, true);
  FewBits.resize(Registers, true);
  // Two passes: a copy of a copy is as far as it goes in practice.
  for (unsigned Pass = 0; Pass < 2; ++Pass)
    for (const Instruction &I : F.Body) {
      const bool Float = I.Ty.K == Type::Float || I.SrcTy.K == Type::Float;
      const int Copied =
          (I.Op == Opcode::Mov || I.Op == Opcode::Cvt) && I.Src.size() == 1 && !Float && I.Src[0].K == Operand::Register
              ? I.Src[0].Reg
              : -1;
      const bool Loads = I.Op == Opcode::Ld && !Float;
      for (const Operand &D : I.Dest) {
        if (D.K != Operand::Register || D.Reg < 0)
          continue;
        if (!Loads && (Copied < 0 || !NonNegative[unsigned(Copied)]))
          NonNegative.reset(unsigned(D.Reg));
        if (!keepsFewBits(I) && (Copied < 0 || !FewBits[unsigned(Copied)]))
          FewBits.reset(unsigned(D.Reg));
      }
    }
}

void Program::findClamps() {
  for (MicroOp &Op : Ops) {
    if (Op.Op != Opcode::Selp || Op.SrcCount != 3)
      continue;
    const Slot Predicate = Slots[Op.FirstSrc + 2];
    if (Predicate < 0 || Predicate >= Slot(Registers) || Writes[size_t(Predicate)].size() != 1)
      continue;
    const MicroOp &Setp = Ops[Writes[size_t(Predicate)][0]];
    if (Setp.Op != Opcode::Setp || Setp.SrcFloat || Setp.SrcCount != 2 || Setp.Compare == Relation::Equal ||
        Setp.Compare == Relation::NotEqual)
      continue;
    for (unsigned S = 0; S < 2; ++S)
      for (unsigned T = 0; T < 2; ++T)
        if (const Slot Value = Slots[Op.FirstSrc + S]; Value >= 0 && Value == Slots[Setp.FirstSrc + T])
          Op.Variant = 1;
  }
}

void Program::findPlaces() {
  auto isMadeOfReal = [&](Slot S) {
    if (S < 0 || S >= Slot(Registers) || Writes[size_t(S)].size() != 1)
      return false;
    const MicroOp &Cvt = Ops[Writes[size_t(S)][0]];
    return Cvt.Op == Opcode::Cvt && Cvt.SrcFloat && !Cvt.Float;
  };
  auto isGiven = [&](Slot S) { // arguments say it, and neither data nor the thread
    unsigned Arguments = 0;
    for (int R : registersBehind(S))
      for (unsigned At : Writes[size_t(R)]) {
        const MicroOp &Op = Ops[At];
        const bool Gives = Op.Op == Opcode::LdParam || (Op.Op == Opcode::Ld && Op.Mem == Space::Const);
        if (!Gives && (Op.Op == Opcode::Ld || Op.Op == Opcode::Atom || llvm::any_of(sources(Op), [&](Slot From) { return isSpecial(From); })))
          return false;
        Arguments += Gives;
      }
    return Arguments > 0;
  };
  PlaceSides.resize(Ops.size());
  for (auto [I, Op] : llvm::enumerate(Ops)) {
    if (Op.Op != Opcode::Setp || Op.SrcFloat || Op.SrcCount < 2 || Op.Compare == Relation::Equal || Op.Compare == Relation::NotEqual)
      continue;
    const Slot A = Slots[Op.FirstSrc], B = Slots[Op.FirstSrc + 1];
    PlaceSides[I] = isMadeOfReal(A) && isGiven(B) ? PlaceSide::First : isMadeOfReal(B) && isGiven(A) ? PlaceSide::Second : PlaceSide::None;
  }
}

template <typename FnT> llvm::BitVector Program::usedAs(FnT IsUse) const {
  llvm::BitVector Used(Registers);
  auto mark = [&](Slot S) {
    if (S < 0 || unsigned(S) >= Registers || Used[unsigned(S)])
      return false;
    Used.set(unsigned(S));
    return true;
  };
  bool Grows = true;
  while (Grows) {
    Grows = false;
    for (const MicroOp &Op : llvm::reverse(Ops)) { // from uses to copies
      bool Copies = false;
      if (Op.Op == Opcode::Mov || Op.Op == Opcode::Selp)
        for (Slot To : llvm::ArrayRef(Slots).slice(Op.FirstDest, Op.DestCount))
          Copies |= To >= 0 && Used[unsigned(To)];
      const unsigned Count = Op.Op == Opcode::Selp ? std::min<unsigned>(Op.SrcCount, 2) : Op.SrcCount; // not its predicate
      if (Copies || (Op.Op != Opcode::Ld && Op.Op != Opcode::LdParam && IsUse(Op)))
        for (Slot From : llvm::ArrayRef(Slots).slice(Op.FirstSrc, Count))
          Grows |= mark(From);
    }
  }
  return Used;
}

void Program::findReals() {
  const llvm::BitVector IsReal = usedAs([](const MicroOp &Op) { return Op.SrcFloat; });
  Reals.resize(unsigned(Slots.size()));
  for (const MicroOp &Op : Ops)
    if (Op.Op == Opcode::Ld || Op.Op == Opcode::LdParam)
      for (unsigned At = Op.FirstDest; At < Op.FirstDest + Op.DestCount; ++At)
        if (Op.Float || (Slots[At] >= 0 && IsReal[unsigned(Slots[At])]))
          Reals.set(At);
}

/// Sums and products have the same low bits either way, and compilers call all of them signed.
static bool asksForSign(const MicroOp &Op) {
  return Op.SrcSigned && Op.Op != Opcode::Add && Op.Op != Opcode::Sub && Op.Op != Opcode::Mul && Op.Op != Opcode::Mad && Op.Op != Opcode::Neg;
}

void Program::findSigned() {
  const llvm::BitVector IsSigned = usedAs([](const MicroOp &Op) { return asksForSign(Op) && Op.SrcBits < 32; });
  for (MicroOp &Op : Ops)
    if (Op.Op == Opcode::Ld && Op.Bits < 32 && F.Body[size_t(&Op - Ops.data())].Ty.K == Type::Untyped)
      for (Slot To : llvm::ArrayRef(Slots).slice(Op.FirstDest, Op.DestCount))
        Op.Signed |= To >= 0 && IsSigned[unsigned(To)];
}
