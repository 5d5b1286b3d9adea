#include "ptx/execute/Program.h"

#include "ptx/execute/Needed.h"
#include "ptx/flow/PointerFlow.h"

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
  case Opcode::Bmsk:
  case Opcode::Szext:
    return M.contains(".clamp") ? Mode::Clamp : Mode::None;
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
  case Opcode::Cvt: // what it is rounded to, an integer
    return M.contains(".rni")   ? Mode::Nearest
           : M.contains(".rzi") ? Mode::TowardZero
           : M.contains(".rmi") ? Mode::Down
           : M.contains(".rpi") ? Mode::Up
           : M.contains(".sat") ? Mode::Saturate
                                : Mode::None;
  default:
    return M.contains(".sat") ? Mode::Saturate : Mode::None;
  }
}

static uint8_t parseVariant(const Instruction &I) {
  StringRef M = I.Mnemonic;
  if (I.Op == Opcode::Setp || I.Op == Opcode::Set)
    return uint8_t(M.contains(".and.")   ? Join::And
                   : M.contains(".or.")  ? Join::Or
                   : M.contains(".xor.") ? Join::Xor
                                         : Join::None);
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
  const StringRef M = I.Mnemonic;
  if (Op.SrcFloat && (M.contains("16x2") || M.contains("32x2"))) // two in a register, each narrower
    Op.SrcBits /= 2;
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

void Program::copyConstants() {
  for (const Block &B : C.Blocks) {
    llvm::DenseMap<Slot, Slot> Held; // by registers of this block, so far
    for (unsigned I = B.Begin; I < B.End; ++I) {
      const MicroOp &Op = Ops[I];
      const bool Copies = Op.Op == Opcode::Mov && Op.SrcCount == 1 && Op.DestCount == 1;
      if (Copies)
        if (const auto At = Held.find(Slots[Op.FirstSrc]); At != Held.end())
          Slots[Op.FirstSrc] = At->second;
      for (unsigned D = 0; D < Op.DestCount; ++D)
        Held.erase(Slots[Op.FirstDest + D]);
      if (const Slot From = Copies ? Slots[Op.FirstSrc] : -1; Op.Guard < 0 && From >= Slot(Registers) && !isSpecial(From))
        Held[Slots[Op.FirstDest]] = From;
    }
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
  copyConstants();
  decodeLoops();
  Writes.resize(Registers);
  for (unsigned I = 0; I < Ops.size(); ++I)
    for (unsigned D = 0; D < Ops[I].DestCount; ++D)
      if (Slot To = Slots[Ops[I].FirstDest + D]; To >= 0)
        Writes[size_t(To)].push_back(I);
  findClamps();
  findPlaces();
  findReals();
  findSigned();
  findTargets();
  findSubscriptsOfReals();
  findRuns();
  findTied();
  findOrderByRuns();
  decodeBranches();
  findAppends();
  findChoices();
  decodeSearches();
  Writes = {};
  orderBlocks();
  findRanges();
  dropUnneeded(*this);
}
