#include "ptx/flow/Search.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace restride::ptx {

namespace {

class SearchReader {
public:
  SearchReader(const Function &F, const ControlFlow &C, const Loop &L) : F(F), C(C), L(L) {
    for (unsigned B : L.Blocks)
      for (unsigned I = C.Blocks[B].Begin; I < C.Blocks[B].End; ++I)
        for (const Operand &D : F.Body[I].Dest)
          if (D.Reg >= 0)
            Writers[unsigned(D.Reg)].push_back(&F.Body[I]);
  }

  bool run() const {
    return any_of(L.Blocks, [&](unsigned B) {
      const Instruction *Branch = branchOf(B);
      return Branch && (leaves(B) || any_of(C.Blocks[B].Succs, [&](unsigned S) { return leavesAt(S, B); })) &&
             finds(Branch->Guard);
    });
  }

private:
  const Instruction *branchOf(unsigned B) const {
    const Block &Here = C.Blocks[B];
    const Instruction *Last = Here.Begin == Here.End ? nullptr : &F.Body[Here.End - 1];
    return Last && Last->Op == Opcode::Bra && Last->Guard >= 0 ? Last : nullptr;
  }
  bool leaves(unsigned B) const {
    return any_of(C.Blocks[B].Succs, [&](unsigned S) { return !is_contained(L.Blocks, S); });
  }
  /// \p Exit leaves the loop by a flag that \p From sets before it goes there.
  bool leavesAt(unsigned Exit, unsigned From) const {
    const Instruction *Branch = is_contained(L.Blocks, Exit) && leaves(Exit) ? branchOf(Exit) : nullptr;
    auto At = Branch ? Writers.find(unsigned(Branch->Guard)) : Writers.end();
    return At != Writers.end() && At->second.size() > 1 && any_of(At->second, [&](const Instruction *I) {
             size_t Index = size_t(I - F.Body.data());
             return Index >= C.Blocks[From].Begin && Index < C.Blocks[From].End;
           });
  }

  /// The one instruction of the loop that sets \p Register.
  const Instruction *writer(int Register) const {
    auto At = Register < 0 ? Writers.end() : Writers.find(unsigned(Register));
    return At != Writers.end() && At->second.size() == 1 ? At->second.front() : nullptr;
  }
  bool isInvariant(const Operand &O) const { return O.K == Operand::Register && O.Reg >= 0 && !Writers.count(unsigned(O.Reg)); }

  /// What \p O was before it was copied or converted.
  const Instruction *source(const Operand &O) const {
    const Instruction *I = O.K == Operand::Register ? writer(O.Reg) : nullptr;
    for (unsigned Steps = 0; I && (I->Op == Opcode::Mov || I->Op == Opcode::Cvt) && Steps < 4; ++Steps)
      I = I->Src.size() == 1 ? writer(I->Src[0].Reg) : nullptr;
    return I;
  }

  bool finds(int Predicate, unsigned Depth = 0) const {
    const Instruction *Setp = writer(Predicate);
    if (Setp && (Setp->Op == Opcode::Or || Setp->Op == Opcode::And || Setp->Op == Opcode::Not) && Depth < 8) // found || free
      return any_of(Setp->Src, [&](const Operand &O) { return O.K == Operand::Register && finds(O.Reg, Depth + 1); });
    if (!Setp || Setp->Op != Opcode::Setp || Setp->Ty.K == Type::Float || Setp->Src.size() != 2)
      return false;
    StringRef M = Setp->Mnemonic;
    if (!M.contains(".eq") && !M.contains(".ne"))
      return false;
    auto Sought = [&](const Operand &Found, const Operand &Key) {
      const Instruction *I = source(Found);
      if (I && I->Op == Opcode::Atom && StringRef(I->Mnemonic).contains(".cas"))
        return true;
      return I && I->isLoad() && I->Mem != Space::Param && I->Mem != Space::Shared && isInvariant(Key);
    };
    return Sought(Setp->Src[0], Setp->Src[1]) || Sought(Setp->Src[1], Setp->Src[0]);
  }

  const Function &F;
  const ControlFlow &C;
  const Loop &L;
  DenseMap<unsigned, std::vector<const Instruction *>> Writers; ///< in the loop, by register
};

} // namespace

bool isSearch(const Function &F, const ControlFlow &C, const Loop &L) { return SearchReader(F, C, L).run(); }

} // namespace restride::ptx
