// Which array the loaded and the converted integers are indices of.
#include "ptx/execute/Program.h"

#include "llvm/Support/MathExtras.h"

#include <map>
#include <set>

using namespace restride::ptx;

/// Whether an index that goes through \p Op is still one: not if it is hashed.
static bool keepsOrder(const MicroOp &Op, const Instruction &I) {
  constexpr int64_t LargestRecord = 1 << 16;
  auto IsSmall = [](const Operand &O) { return O.K == Operand::Immediate && O.Imm >= 0 && O.Imm <= LargestRecord; };
  switch (Op.Op) {
  case Opcode::Mov:
  case Opcode::Cvt:
  case Opcode::Cvta:
  case Opcode::Add:
  case Opcode::Sub:
  case Opcode::Selp:
  case Opcode::Min:
  case Opcode::Max:
    return true;
  case Opcode::And: // also of all but the place in a tile, and where 32 bits become 64
    return llvm::any_of(I.Src, [&](const Operand &O) {
      const bool IsTile = O.Imm < 0 && llvm::isPowerOf2_64(0 - uint64_t(O.Imm));
      return IsSmall(O) || (O.K == Operand::Immediate && (IsTile || O.Imm == UINT32_MAX));
    });
  case Opcode::Shl:
  case Opcode::Shr:
  case Opcode::Or:
  case Opcode::Xor: // the place in a tile, of an element half a tile ahead
  case Opcode::Bfe:
  case Opcode::Bfi:
  case Opcode::Mul:
  case Opcode::MulWide:
  case Opcode::Mad:
  case Opcode::MadWide:
    return llvm::any_of(I.Src, IsSmall);
  default:
    return false;
  }
}

/// Also where its address was moved to a register before, as of members of a struct, and another member's place added.
std::pair<const ParameterSlot *, uint64_t> Program::parameterOf(const MicroOp &Load) const {
  Slot At = Load.Address;
  uint64_t Offset = uint64_t(Load.Offset);
  auto isConstant = [&](Slot S) { return S >= Slot(Registers) && !Constants[size_t(S) - Registers].IsSpecial; };
  for (unsigned Steps = 0; At >= 0 && At < Slot(Registers); ++Steps) {
    constexpr unsigned MaxSteps = 4;
    const std::vector<unsigned> &From = Writes[size_t(At)];
    const MicroOp *Op = Steps < MaxSteps && From.size() == 1 ? &Ops[From[0]] : nullptr;
    At = -1;
    if (Op && Op->Op == Opcode::Mov && Op->SrcCount == 1)
      At = Slots[Op->FirstSrc];
    else if (Op && Op->Op == Opcode::Add && Op->SrcCount == 2 && isConstant(Slots[Op->FirstSrc + 1])) {
      At = Slots[Op->FirstSrc];
      Offset += Constants[size_t(Slots[Op->FirstSrc + 1]) - Registers].Value;
    }
  }
  const uint64_t Address = At < Slot(Registers) ? 0 : Constants[size_t(At) - Registers].Value + Offset;
  const ParameterSlot *Behind = At < Slot(Registers) ? nullptr : Addresses.parameterAt(Address);
  return {Behind, Behind ? Address - Behind->Offset : 0};
}

/// An index that data give is of the array whose address it is added to. Of a vector
/// load each part by itself, so that it is the same in all layouts.
void Program::findTargets() {
  Targets.assign(Slots.size(), {});
  constexpr int16_t Several = -3;
  std::map<size_t, bool> Multiplied; // by destination
  llvm::BitVector Seen(Registers);
  for (unsigned Access = 0; Access < Ops.size(); ++Access) {
    const MicroOp &To = Ops[Access];
    const bool Global = To.Mem == Space::Global || To.Mem == Space::Generic || To.Mem == Space::None;
    if (!F.Body[Access].isMemory() || !Global || To.Address < 0 || To.Address >= Slot(Registers) || Seen[unsigned(To.Address)])
      continue;
    Seen.set(unsigned(To.Address));
    std::set<GivenPointer> Pointers;
    std::set<size_t> Data;
    bool Ordered = true, Converted = true;
    for (int R : registersBehind(To.Address, /*AsIndex=*/true))
      for (unsigned At : Writes[size_t(R)]) {
        const MicroOp &Op = Ops[At];
        if (Op.Op == Opcode::Ld || (Op.Op == Opcode::Cvt && Op.SrcFloat && !Op.Float)) {
          Data.insert(Op.FirstDest + partOf(Op, R));
          Converted &= Op.Op == Opcode::Cvt;
        } else if (Op.Op != Opcode::LdParam) {
          Ordered &= keepsOrder(Op, F.Body[At]) || dataBehind(R, /*Converted=*/true).empty();
        } else if (const std::optional<GivenPointer> Pointer = pointerOf(Op, R)) {
          Pointers.insert(*Pointer);
        }
      }
    if (Pointers.size() == 1 && Data.size() > 1 && Data.size() <= 3 && Converted) { // coordinates: (z * height + y) * width + x
      for (size_t At : Data) {
        auto [Known, New] = Multiplied.try_emplace(At, false);
        if (New)
          Known->second = isMultiplied(Slots[At]);
        if (Known->second)
          Targets[At].Position = IndexTarget::Row;
      }
      std::erase_if(Data, [&](size_t At) { return Targets[At].Position == IndexTarget::Row; });
      Ordered = true;
    }
    if (Data.size() == 2 && Pointers.size() == 1 && Ordered && !Converted)
      if (const std::vector<LoadedPart> Loads = loadsBehind(To.Address); Loads.size() == 2) {
        const bool Swaps = Loads[1].Dest < Loads[0].Dest;
        Spans.push_back({Loads[Swaps], Loads[!Swaps], *Pointers.begin()});
      }
    if (Data.size() != 1 || Pointers.size() != 1)
      continue;
    IndexTarget &Target = Targets[*Data.begin()];
    const auto [Position, Word] = *Pointers.begin();
    if (!Ordered || (Target.Position != IndexTarget::None && Target.Position != Position))
      Target.Position = Several;
    else
      Target = {Position, Target.Position == IndexTarget::None ? Word : std::min(Target.Word, Word)};
  }
  for (IndexTarget &Target : Targets)
    if (Target.Position == Several)
      Target.Position = IndexTarget::None;
}

/// What follows from \p Register by copies, limits and sums is multiplied with something that is no constant.
bool Program::isMultiplied(int Register) const {
  llvm::BitVector From(Registers);
  From.set(unsigned(Register));
  for (bool Changed = true; Changed;) {
    Changed = false;
    for (const MicroOp &Op : Ops) {
      if (Op.Float || Op.SrcFloat || Op.DestCount != 1)
        continue;
      auto Source = [&](unsigned S) { return S < Op.SrcCount ? Slots[Op.FirstSrc + S] : -1; };
      auto Has = [&](unsigned S) { return Source(S) >= 0 && Source(S) < Slot(Registers) && From[unsigned(Source(S))]; };
      auto Varies = [&](unsigned S) { return Source(S) >= 0 && Source(S) < Slot(Registers); };
      bool Follows = false;
      switch (Op.Op) {
      case Opcode::Mul:
      case Opcode::MulWide:
      case Opcode::Mad:
      case Opcode::MadWide:
        if ((Has(0) && Varies(1)) || (Has(1) && Varies(0)))
          return true;
        Follows = Has(2);
        break;
      case Opcode::Rem: // (x + 1) % width
        Follows = Has(0);
        break;
      case Opcode::Mov:
      case Opcode::Cvt:
      case Opcode::Min:
      case Opcode::Max:
      case Opcode::Selp:
      case Opcode::Add:
      case Opcode::Sub:
        Follows = Has(0) || Has(1);
        break;
      default:
        break;
      }
      const Slot To = Slots[Op.FirstDest];
      if (Follows && To >= 0 && !From[unsigned(To)])
        From.set(unsigned(To)), Changed = true;
    }
  }
  return false;
}

void Program::findSubscriptsOfReals() {
  MakesSubscriptsOfReals = llvm::any_of(Ops, [&](const MicroOp &Op) {
    return Op.Mem == Space::Global && Op.Address >= 0 && llvm::any_of(registersBehind(Op.Address), [&](int R) {
             return llvm::any_of(Writes[size_t(R)], [&](unsigned At) { return Ops[At].Op == Opcode::Cvt && Ops[At].SrcFloat && !Ops[At].Float; });
           });
  });
}
