#include "ptx/flow/Walk.h"

#include "ptx/flow/Liveness.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace restride::ptx {

namespace {

class WalkReader {
public:
  WalkReader(const Function &F, const ControlFlow &C, const Loop &L) : F(F), C(C), L(L) {}

  bool run() const {
    BitVector Steps = spread(BitVector(F.Registers.size()), /*Loads=*/true);
    Steps &= carried();
    if (Steps.none())
      return false;
    Steps = spread(std::move(Steps), /*Loads=*/false);
    return anyInstruction([&](const Instruction &I) { return loads(I) && I.Addr && has(Steps, I.Addr->Reg); });
  }

private:
  static bool has(const BitVector &Set, int Register) { return Register >= 0 && Set.test(unsigned(Register)); }
  static bool loads(const Instruction &I) { return I.isLoad() && I.Mem != Space::Param && I.Mem != Space::Shared; }

  template <typename FnT> bool anyInstruction(FnT Is) const {
    return any_of(L.Blocks, [&](unsigned B) {
      return any_of(ArrayRef(F.Body).slice(C.Blocks[B].Begin, C.Blocks[B].End - C.Blocks[B].Begin), Is);
    });
  }

  /// The registers that follow from \p From, and with \p Loads from loads, within a trip or over several.
  BitVector spread(BitVector From, bool Loads) const {
    auto follows = [&](const Instruction &I) {
      return (Loads && loads(I)) || has(From, I.Guard) || any_of(I.Src, [&](const Operand &S) { return has(From, S.Reg); });
    };
    for (bool Changed = true; Changed;) {
      Changed = false;
      anyInstruction([&](const Instruction &I) {
        for (const Operand &D : I.Dest)
          if (D.Reg >= 0 && !has(From, D.Reg) && follows(I))
            From.set(unsigned(D.Reg)), Changed = true;
        return false;
      });
    }
    return From;
  }

  /// Registers that a trip sets and a later one reads.
  BitVector carried() const {
    BitVector Set(F.Registers.size());
    anyInstruction([&](const Instruction &I) {
      for (const Operand &D : I.Dest)
        if (D.Reg >= 0)
          Set.set(unsigned(D.Reg));
      return false;
    });
    return Set &= liveIn(F, C, L.Blocks)[L.Header];
  }

  const Function &F;
  const ControlFlow &C;
  const Loop &L;
};

} // namespace

bool isWalk(const Function &F, const ControlFlow &C, const Loop &L) { return WalkReader(F, C, L).run(); }

} // namespace restride::ptx
