// Which registers are read later.
#pragma once

#include "ptx/flow/ControlFlow.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"

namespace restride::ptx {

/// What \p I does to liveness, seen backwards: \p Kill for each register whose old
/// value it overwrites, then \p Use for each that it reads.
template <typename KillFn, typename UseFn> void visitBackwards(const Instruction &I, KillFn Kill, UseFn Use) {
  auto With = [](auto Fn, int Register) {
    if (Register >= 0)
      Fn(unsigned(Register));
  };
  if (I.Guard < 0) // one with a guard may leave the old value
    for (const Operand &D : I.Dest)
      With(Kill, D.Reg);
  for (const Operand &S : I.Src)
    With(Use, S.Reg);
  if (I.Addr)
    With(Use, I.Addr->Reg);
  With(Use, I.Guard);
}

/// By block: the registers whose values at its begin are read in \p Blocks, on a
/// way that stays in them. Empty for other blocks.
std::vector<llvm::BitVector> liveIn(const Function &F, const ControlFlow &C, llvm::ArrayRef<unsigned> Blocks);

} // namespace restride::ptx
