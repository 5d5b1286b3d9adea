#include "ptx/flow/NarrowLoads.h"

#include "ptx/flow/Liveness.h"

#include <algorithm>

namespace restride::ptx {
using namespace llvm;

static BitVector usedRegisters(const Function &F) {
  BitVector Used(unsigned(F.Registers.size()));
  for (const Instruction &I : F.Body)
    visitBackwards(I, [](unsigned) {}, [&](unsigned Register) { Used.set(Register); });
  return Used;
}

/// ".v4" of \p I's mnemonic as ".v2", or as nothing.
static void setVector(Instruction &I, unsigned Vector) {
  const std::string Before = ".v" + std::to_string(I.Vector);
  if (const size_t At = I.Mnemonic.find(Before); At != std::string::npos)
    I.Mnemonic.replace(At, Before.size(), Vector > 1 ? ".v" + std::to_string(Vector) : "");
  I.Vector = Vector;
}

void narrowLoads(Function &F) {
  const BitVector Used = usedRegisters(F);
  for (Instruction &I : F.Body) {
    const StringRef Mnemonic = I.Mnemonic;
    if (!I.isLoad() || !I.Addr || I.Vector < 2 || I.Dest.size() != I.Vector || Mnemonic.contains(".volatile") || Mnemonic.contains(".relaxed") ||
        Mnemonic.contains(".acquire"))
      continue;
    unsigned First = I.Vector, Last = 0;
    for (unsigned D = 0; D < I.Vector; ++D)
      if (I.Dest[D].Reg >= 0 && Used[unsigned(I.Dest[D].Reg)])
        First = std::min(First, D), Last = D;
    if (First > Last)
      continue;
    unsigned Width = 1;
    while (First / Width != Last / Width)
      Width *= 2;
    const unsigned Begin = First / Width * Width;
    if (Width >= I.Vector)
      continue;
    I.Addr->Imm += int64_t(Begin) * I.Ty.bytes();
    I.Dest = std::vector<Operand>(I.Dest.begin() + Begin, I.Dest.begin() + Begin + Width);
    setVector(I, Width);
  }
}

} // namespace restride::ptx
