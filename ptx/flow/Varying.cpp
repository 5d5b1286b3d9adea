#include "ptx/flow/Varying.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace restride::ptx;

static bool isOfThread(const Operand &Op) {
  const llvm::StringRef Name = Op.Name;
  return Op.K == Operand::Symbol && (Name.starts_with("%tid") || Name.starts_with("%lane"));
}

/// What \p I gives differs from lane to lane, whatever its operands are.
static bool varies(const Instruction &I) {
  return I.Op == Opcode::Atom || I.Op == Opcode::Shfl || I.Op == Opcode::Call || (I.Op == Opcode::Ld && (I.Mem == Space::Local || I.Mem == Space::Generic));
}

llvm::BitVector restride::ptx::varyingRegisters(const Function &F) {
  llvm::BitVector Out(unsigned(F.Registers.size()));
  auto Differs = [&](const Operand &Op) { return isOfThread(Op) || (Op.Reg >= 0 && Out[unsigned(Op.Reg)]); };
  for (bool Changed = true; Changed;) { // loops carry it back
    Changed = false;
    for (const Instruction &I : F.Body) {
      if (!varies(I) && llvm::none_of(I.Src, Differs) && !(I.Addr && Differs(*I.Addr)) && !(I.Guard >= 0 && Out[unsigned(I.Guard)]))
        continue;
      for (const Operand &D : I.Dest)
        if (D.K == Operand::Register && D.Reg >= 0 && !Out[unsigned(D.Reg)]) {
          Out.set(unsigned(D.Reg));
          Changed = true;
        }
    }
  }
  return Out;
}
