#include "analysis/cost/StoreOrder.h"

#include "analysis/cost/IssueSlots.h"

#include <algorithm>

using namespace llvm;
using restride::ptx::Instruction;
using restride::ptx::Opcode;
using restride::ptx::Operand;
using restride::ptx::Space;

namespace restride::cost {

/// Registers that the region reads and does not write; roots of written ones follow.
static constexpr unsigned Unwritten = 1u << 31;

StoreOrder::Place StoreOrder::placeOf(int Register) const {
  auto It = Places.find(Register);
  return It == Places.end() ? Place{Unwritten + unsigned(Register + 1), 0} : It->second;
}

bool writesMemory(const Instruction &I) {
  return I.isMemory() && !I.isLoad();
}

/// Generic addresses may be of any space.
static bool meet(Space A, Space B) { return A == B || A == Space::Generic || B == Space::Generic; }

double StoreOrder::earliest(const Instruction &I) const {
  if (I.Op != Opcode::Ld || !I.Addr || I.Mem == Space::Const || I.Mem == Space::Param)
    return 0;
  double Start = Fence;
  if (StringRef(I.Mnemonic).contains(".nc"))
    return Start; // reads what nobody writes
  Place At = placeOf(I.Addr->Reg);
  At.Offset += I.Addr->Imm;
  int64_t Bytes = I.accessBytes();
  for (const Write &W : Writes) {
    bool Apart = W.At.Root == At.Root && (At.Offset + Bytes <= W.At.Offset || W.At.Offset + W.Bytes <= At.Offset);
    if (!Apart && meet(W.Mem, I.Mem))
      Start = std::max(Start, W.Start);
  }
  return Start;
}

void StoreOrder::define(const Instruction &I) {
  Place Value{++Defined, 0};
  bool Copies = I.Op == Opcode::Mov || I.Op == Opcode::Cvta;
  bool Adds = (I.Op == Opcode::Add || I.Op == Opcode::Sub) && I.Src.size() == 2 && I.Src[1].K == Operand::Immediate;
  if ((Copies || Adds) && !I.Src.empty() && I.Src[0].K == Operand::Register && I.Guard < 0) {
    Value = placeOf(I.Src[0].Reg);
    if (Adds)
      Value.Offset += I.Op == Opcode::Add ? I.Src[1].Imm : -I.Src[1].Imm;
  } else if (I.Op == Opcode::Add && I.Src.size() == 2 && I.Guard < 0 && I.Src[0].K == Operand::Register &&
             I.Src[1].K == Operand::Register) {
    Place A = placeOf(I.Src[0].Reg), B = placeOf(I.Src[1].Reg);
    Value.Root = Sums.try_emplace(std::minmax(A.Root, B.Root), Value.Root).first->second;
    Value.Offset = A.Offset + B.Offset;
  }
  for (const Operand &D : I.Dest)
    if (D.Reg >= 0)
      Places[D.Reg] = Value;
}

bool splitsBlock(const Instruction &I) {
  StringRef Class = issueClass(I);
  return Class == "div_ieee" || Class == "sqrt_ieee" || Class == "f64_special" || Class == "div_i64" ||
         I.Op == Opcode::Bar || I.Op == Opcode::Membar;
}

void StoreOrder::issued(const Instruction &I, double Start) {
  if (splitsBlock(I)) {
    for (const Write &W : Writes)
      Start = std::max(Start, W.Start);
    Fence = std::max(Fence, Start);
    Writes.clear();
  }
  if (writesMemory(I) && I.Addr) {
    Place At = placeOf(I.Addr->Reg);
    At.Offset += I.Addr->Imm;
    Writes.push_back({At, int64_t(I.accessBytes()), I.Mem, Start});
  }
  if (!I.Dest.empty())
    define(I);
}

} // namespace restride::cost
