#include "ptx/flow/March.h"

#include "ptx/flow/LoopWrites.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace restride::ptx {

namespace {

class MarchReader {
public:
  MarchReader(const Function &F, const ControlFlow &C, const Loop &L) : F(F), C(C), L(L), Writers(writesIn(F, C, L)) {}

  bool run() const {
    return any_of(L.Blocks, [&](unsigned B) {
      const Block &Here = C.Blocks[B];
      return Here.Begin != Here.End && leavesLoop(C, L, B) && tests(F.Body[Here.End - 1].Guard);
    });
  }

private:
  ArrayRef<unsigned> writers(int Reg) const {
    auto At = Writers.find(Reg);
    return At == Writers.end() ? ArrayRef<unsigned>() : ArrayRef(At->second);
  }
  bool changes(const Operand &O) const { return O.Reg >= 0 && !writers(O.Reg).empty(); }

  /// A comparison behind the predicate \p Guard has one that moves on, and a bound.
  bool tests(int Guard) const {
    for (int R : behind(Guard, [](const Instruction &I) { return I.Ty.K == Type::Pred && I.Op != Opcode::Setp; }))
      for (unsigned At : writers(R)) {
        const Instruction &I = F.Body[At];
        if (I.Op == Opcode::Setp && I.SrcTy.K == Type::Float && I.Src.size() >= 2 && changes(I.Src[0]) != changes(I.Src[1]) &&
            movesOn(I.Src[changes(I.Src[0]) ? 0 : 1].Reg))
          return true;
      }
    return false;
  }

  /// What is added to \p Reg in a trip, `t += step`, is the same in all of them.
  bool movesOn(int Reg) const {
    for (int R : behind(Reg, sums))
      for (unsigned At : writers(R)) {
        const Instruction &I = F.Body[At];
        const auto Changed = find_if(I.Src, [&](const Operand &O) { return changes(O); });
        const bool Adds = I.Op == Opcode::FAdd || I.Op == Opcode::FSub;
        if (Adds && count_if(I.Src, [&](const Operand &O) { return changes(O); }) == 1 && is_contained(behind(Changed->Reg, sums), R))
          return true;
      }
    return false;
  }

  static bool sums(const Instruction &I) { return is_contained({Opcode::FAdd, Opcode::FSub, Opcode::Mov, Opcode::Selp}, I.Op); }

  /// \p Reg and what follows into it through instructions of the loop for which \p Follows holds.
  template <typename FnT> SmallVector<int, 8> behind(int Reg, FnT Follows) const {
    SmallVector<int, 8> Out{Reg};
    for (size_t I = 0; I < Out.size(); ++I)
      for (unsigned At : writers(Out[I]))
        if (Follows(F.Body[At]))
          for (const Operand &O : F.Body[At].Src)
            if (O.Reg >= 0 && !is_contained(Out, O.Reg))
              Out.push_back(O.Reg);
    return Out;
  }

  const Function &F;
  const ControlFlow &C;
  const Loop &L;
  const LoopWrites Writers;
};

} // namespace

bool marches(const Function &F, const ControlFlow &C, const Loop &L) { return MarchReader(F, C, L).run(); }

} // namespace restride::ptx
