#include "ptx/flow/Liveness.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace restride::ptx {

std::vector<BitVector> liveIn(const Function &F, const ControlFlow &C, ArrayRef<unsigned> Blocks) {
  const unsigned Registers = unsigned(F.Registers.size());
  // Blocks outside have no bits, so that none of them adds any.
  std::vector<BitVector> Out(C.Blocks.size());
  for (unsigned B : Blocks)
    Out[B].resize(Registers);
  for (bool Changed = true; Changed;) {
    Changed = false;
    for (unsigned B : reverse(Blocks)) {
      BitVector Live(Registers);
      for (unsigned S : C.Blocks[B].Succs)
        Live |= Out[S];
      for (unsigned I = C.Blocks[B].End; I-- > C.Blocks[B].Begin;)
        visitBackwards(F.Body[I], [&](unsigned R) { Live.reset(R); }, [&](unsigned R) { Live.set(R); });
      if (Live != Out[B])
        Out[B] = std::move(Live), Changed = true;
    }
  }
  return Out;
}

} // namespace restride::ptx
