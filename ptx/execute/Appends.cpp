// `at = atomicAdd(count, 1); list[at] = ...`: what threads append to a list is no more than the list holds.
#include "ptx/execute/Program.h"

#include "llvm/ADT/STLExtras.h"

using namespace restride::ptx;

/// All threads have the same address there: neither their numbers nor data are behind it.
bool Program::isUniform(Slot Address) const {
  for (int R : registersBehind(Address))
    for (unsigned At : Writes[size_t(R)]) {
      const MicroOp &Op = Ops[At];
      if (Op.Op == Opcode::Ld || Op.Op == Opcode::Atom || llvm::any_of(sources(Op), [&](Slot S) { return isSpecial(S); }))
        return false;
    }
  return true;
}

void Program::findAppends() {
  for (BranchInfo &Info : Branches) {
    const unsigned Body = Info.Body == 1 ? Info.Taken : Info.Next;
    if (!Info.Body || Body >= C.Blocks.size())
      continue;
    for (unsigned I = C.Blocks[Body].Begin; I < C.Blocks[Body].End; ++I) {
      const MicroOp &Counts = Ops[I];
      if (Counts.Op != Opcode::Atom || Counts.DestCount != 1 || Counts.Mem == Space::Shared || !isUniform(Counts.Address))
        continue;
      const int Place = Slots[Counts.FirstDest];
      for (const MicroOp &Store : Ops)
        if (Store.Op == Opcode::St && llvm::is_contained(registersBehind(Store.Address), Place))
          for (const auto &[Position, Word] : pointersBehind(Store.Address))
            Info.Appends = {Position, Word};
    }
  }
}
