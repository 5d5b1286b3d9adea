#include "ptx/flow/Walk.h"

#include "llvm/ADT/BitVector.h"
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
    std::vector<BitVector> LiveIn(C.Blocks.size(), BitVector(F.Registers.size()));
    BitVector Set(F.Registers.size());
    for (bool Changed = true; Changed;) {
      Changed = false;
      for (unsigned B : reverse(L.Blocks)) {
        BitVector Live(F.Registers.size());
        for (unsigned S : C.Blocks[B].Succs)
          if (is_contained(L.Blocks, S))
            Live |= LiveIn[S];
        for (unsigned I = C.Blocks[B].End; I-- > C.Blocks[B].Begin;)
          step(F.Body[I], Live, Set);
        if (Live != LiveIn[B])
          LiveIn[B] = std::move(Live), Changed = true;
      }
    }
    return Set &= LiveIn[L.Header];
  }

  /// \p Live before \p I instead of after it; \p Set gets what it sets.
  static void step(const Instruction &I, BitVector &Live, BitVector &Set) {
    for (const Operand &D : I.Dest)
      if (D.Reg >= 0) {
        Set.set(unsigned(D.Reg));
        if (I.Guard < 0) // one with a guard may leave the old value
          Live.reset(unsigned(D.Reg));
      }
    auto use = [&](int R) {
      if (R >= 0)
        Live.set(unsigned(R));
    };
    for (const Operand &S : I.Src)
      use(S.Reg);
    if (I.Addr)
      use(I.Addr->Reg);
    use(I.Guard);
  }

  const Function &F;
  const ControlFlow &C;
  const Loop &L;
};

} // namespace

bool isWalk(const Function &F, const ControlFlow &C, const Loop &L) { return WalkReader(F, C, L).run(); }

} // namespace restride::ptx
