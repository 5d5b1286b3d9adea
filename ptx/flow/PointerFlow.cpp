#include "ptx/flow/PointerFlow.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace restride::ptx;

/// Enough passes over the text for any chain that compilers print; values flow
/// downward, so that few are needed.
static constexpr unsigned MaxPasses = 32;

static int registerOf(const Operand &Op) { return Op.K == Operand::Register ? Op.Reg : -1; }

static bool set(llvm::BitVector &Bits, int Reg) {
  if (Reg < 0 || Bits[Reg])
    return false;
  Bits.set(Reg);
  return true;
}

/// Instructions that hand a pointer on unchanged or moved by an offset.
static bool passesOn(const Instruction &I) {
  if (I.Dest.size() != 1 || I.Src.empty() || I.Ty.Bits != 64)
    return false;
  return I.Op == Opcode::Mov || I.Op == Opcode::Cvta || I.Op == Opcode::Add || I.Op == Opcode::Sub ||
         I.Op == Opcode::Selp;
}

/// Registers certain to hold pointers: the compiler says so.
static llvm::BitVector certainPointers(const Function &F) {
  llvm::StringMap<bool> Marked;
  for (const Parameter &P : F.Params)
    Marked[P.Name] = P.IsPointer;
  llvm::BitVector Certain(unsigned(F.Registers.size()));
  for (const Instruction &I : F.Body) {
    const bool IsMarked = I.Op == Opcode::LdParam && I.Addr && Marked.lookup(I.Addr->Name);
    const bool IsSymbol = I.Op == Opcode::Mov && I.Src.size() == 1 && I.Src[0].K == Operand::Symbol &&
                          I.Ty.Bits == 64 && !llvm::StringRef(I.Src[0].Name).starts_with("%");
    if (!I.Dest.empty() && (I.Op == Opcode::Cvta || IsMarked || IsSymbol))
      set(Certain, registerOf(I.Dest[0]));
  }
  bool Changed = true;
  for (unsigned Pass = 0; Changed && Pass < MaxPasses; ++Pass) {
    Changed = false;
    for (const Instruction &I : F.Body) {
      if (!passesOn(I))
        continue;
      for (const Operand &Op : I.Src)
        if (int R = registerOf(Op); R >= 0 && Certain[R])
          Changed |= set(Certain, registerOf(I.Dest[0]));
    }
  }
  return Certain;
}

llvm::BitVector restride::ptx::pointerRegisters(const Function &F) {
  const llvm::BitVector Certain = certainPointers(F);
  llvm::BitVector Pointers = Certain;
  for (const Instruction &I : F.Body) {
    if (I.Addr && (I.Mem == Space::Global || I.Mem == Space::Generic))
      set(Pointers, I.Addr->Reg);
    const bool StoresWhole = (I.Op == Opcode::St || I.Op == Opcode::StParam) && I.Ty.Bits == 64;
    if (StoresWhole || (I.Op == Opcode::Cvta && I.Ty.Bits == 64))
      for (const Operand &Op : I.Src)
        set(Pointers, registerOf(Op));
  }
  bool Changed = true;
  for (unsigned Pass = 0; Changed && Pass < MaxPasses; ++Pass) {
    Changed = false;
    for (const Instruction &I : llvm::reverse(F.Body)) {
      const int To = passesOn(I) ? registerOf(I.Dest[0]) : -1;
      if (To < 0 || !Pointers[To])
        continue;
      // In "pointer + offset" only one side can be the pointer.
      const bool KnowsBase =
          (I.Op == Opcode::Add || I.Op == Opcode::Sub) &&
          llvm::any_of(I.Src, [&](const Operand &Op) { return registerOf(Op) >= 0 && Certain[registerOf(Op)]; });
      if (KnowsBase)
        continue;
      const size_t Sources = I.Op == Opcode::Sub ? 1 : std::min<size_t>(I.Src.size(), 2);
      for (size_t S = 0; S < Sources; ++S)
        Changed |= set(Pointers, registerOf(I.Src[S]));
    }
  }
  return Pointers;
}
