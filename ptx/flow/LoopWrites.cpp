#include "ptx/flow/LoopWrites.h"

restride::ptx::LoopWrites restride::ptx::writesIn(const Function &F, const ControlFlow &C, const Loop &L) {
  LoopWrites Out;
  for (unsigned B : L.Blocks)
    for (unsigned I = C.Blocks[B].Begin; I < C.Blocks[B].End; ++I)
      for (const Operand &D : F.Body[I].Dest)
        if (D.K == Operand::Register && D.Reg >= 0)
          Out[D.Reg].push_back(I);
  return Out;
}
