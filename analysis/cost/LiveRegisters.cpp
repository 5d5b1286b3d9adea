#include "analysis/cost/LiveRegisters.h"

#include "ptx/flow/Liveness.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace llvm;

namespace restride::cost {

namespace {

/// Reserved by the calling convention and for addresses and constants that
/// ptxas materialises; fitted on `ptxas -v` of the measured kernels.
constexpr unsigned Overhead = 6, Fewest = 16, Granule = 8;

/// 32-bit registers of a PTX register, from the type that its name carries in
/// both compilers' output. Predicates live in their own file.
unsigned widthOf(StringRef Name) {
  if (Name.starts_with("%rq"))
    return 4;
  if (Name.starts_with("%rd") || Name.starts_with("%fd"))
    return 2;
  return Name.starts_with("%p") ? 0 : 1;
}

class Liveness {
public:
  Liveness(const ptx::Function &F, const ptx::ControlFlow &C) : F(F), C(C), Width(F.Registers.size()) {
    for (size_t R = 0; R < Width.size(); ++R)
      Width[R] = widthOf(F.Registers[R]);
  }

  unsigned mostLive() {
    const auto Blocks = to_vector(seq(0u, unsigned(C.Blocks.size())));
    const std::vector<BitVector> LiveIn = ptx::liveIn(F, C, Blocks);
    for (const ptx::Block &B : C.Blocks) {
      BitVector Live(Width.size());
      for (unsigned S : B.Succs)
        Live |= LiveIn[S];
      walk(B, Live);
    }
    return Most;
  }

private:
  void walk(const ptx::Block &B, BitVector &Live) {
    unsigned Now = 0;
    for (unsigned R : Live.set_bits())
      Now += Width[R];
    Most = std::max(Most, Now);
    auto kill = [&](unsigned R) {
      if (Live.test(R))
        Live.reset(R), Now -= Width[R];
    };
    auto use = [&](unsigned R) {
      if (!Live.test(R))
        Live.set(R), Now += Width[R];
    };
    for (unsigned I = B.End; I-- > B.Begin;) {
      ptx::visitBackwards(F.Body[I], kill, use);
      Most = std::max(Most, Now);
    }
  }

  const ptx::Function &F;
  const ptx::ControlFlow &C;
  std::vector<unsigned> Width;
  unsigned Most = 0;
};

} // namespace

unsigned estimateRegisters(const ptx::Function &F, const ptx::ControlFlow &C, unsigned Most) {
  unsigned Registers = std::max(Fewest, unsigned(alignTo(Liveness(F, C).mostLive() + Overhead, Granule)));
  if (F.MaxRegs)
    Registers = std::min(Registers, F.MaxRegs);
  return std::min(Registers, Most);
}

} // namespace restride::cost
