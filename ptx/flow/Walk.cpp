#include "ptx/flow/Walk.h"

#include "ptx/flow/Liveness.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace restride::ptx {

namespace {

class WalkReader {
public:
  WalkReader(const Function &F, const ControlFlow &C, const Loop &L) : F(F), C(C), L(L) {}

  std::optional<Walk> run() const {
    const BitVector Carried = carried();
    if (!goesBy(spread(nothing(), Flow::All), Carried))
      return std::nullopt;
    const BitVector Values = spread(nothing(), Flow::Values);
    Walk W;
    if (goesBy(Values, Carried))
      return W;
    W.Plain = plain(Values);
    W.Decides = any_of(W.Plain, [&](unsigned I) { return F.Body[I].Op == Opcode::Bra; });
    return W;
  }

  bool isByStack() const {
    const BitVector Taken = loadedFrom({Space::Local}), Laid = loadedFrom({Space::Local, Space::Global});
    return goesTo(Taken, Space::Global) &&
           anyInstruction([&](const Instruction &I) { return I.isStore() && I.Mem == Space::Local && hasAny(Laid, I.Src); });
  }

private:
  static bool has(const BitVector &Set, int Register) { return Register >= 0 && Set.test(unsigned(Register)); }
  static bool loads(const Instruction &I) { return I.isLoad() && I.Mem != Space::Param && I.Mem != Space::Shared; }

  template <typename FnT> bool anyInstruction(FnT Is) const {
    return any_of(L.Blocks, [&](unsigned B) {
      return any_of(ArrayRef(F.Body).slice(C.Blocks[B].Begin, C.Blocks[B].End - C.Blocks[B].Begin), Is);
    });
  }

  enum class Flow {
    All,
    Places,  ///< of what was there at first, in integers: a march through space goes by distance, in floating-point
    Values,  ///< what was loaded, and not what a comparison with it selects
  };

  BitVector nothing() const { return BitVector(F.Registers.size()); }
  static bool compares(const Instruction &I) { return I.Op == Opcode::Setp || I.Op == Opcode::Set; }

  static bool hasAny(const BitVector &Set, ArrayRef<Operand> Of) {
    return any_of(Of, [&](const Operand &O) { return has(Set, O.Reg); });
  }

  /// Adds what instructions write for which \p Follows holds, until none is new.
  template <typename FnT> void close(BitVector &Set, FnT Follows) const {
    for (bool Changed = true; Changed;) {
      Changed = false;
      anyInstruction([&](const Instruction &I) {
        for (const Operand &D : I.Dest)
          if (D.Reg >= 0 && !has(Set, D.Reg) && Follows(I))
            Set.set(unsigned(D.Reg)), Changed = true;
        return false;
      });
    }
  }

  /// The registers that follow from \p From, within a trip or over several.
  BitVector spread(BitVector From, Flow By) const {
    close(From, [&](const Instruction &I) {
      if (By == Flow::Values && compares(I))
        return false;
      if (By == Flow::Places && I.Op == Opcode::Cvt && I.SrcTy.K == Type::Float)
        return false;
      return (By != Flow::Places && loads(I)) || (By != Flow::Values && has(From, I.Guard)) || hasAny(From, I.Src);
    });
    return From;
  }

  /// Whether an address follows from those of \p Steps that a later trip reads.
  bool goesBy(BitVector Steps, const BitVector &Carried) const {
    Steps &= Carried;
    if (Steps.none())
      return false;
    Steps = spread(std::move(Steps), Flow::Places);
    return anyInstruction([&](const Instruction &I) { return loads(I) && I.Addr && has(Steps, I.Addr->Reg); });
  }

  /// The registers that instructions write for which \p Is holds.
  template <typename FnT> BitVector writtenBy(FnT Is) const {
    BitVector Set = nothing();
    anyInstruction([&](const Instruction &I) {
      for (const Operand &D : I.Dest)
        if (D.Reg >= 0 && Is(I))
          Set.set(unsigned(D.Reg));
      return false;
    });
    return Set;
  }

  /// What follows in integers from what loads from the spaces \p From give.
  BitVector loadedFrom(std::initializer_list<Space> From) const {
    return spread(writtenBy([&](const Instruction &I) { return I.isLoad() && is_contained(From, I.Mem); }), Flow::Places);
  }

  bool goesTo(const BitVector &Places, Space S) const {
    return anyInstruction([&](const Instruction &I) { return I.isLoad() && I.Mem == S && I.Addr && has(Places, I.Addr->Reg); });
  }

  /// What is decided neither by one of \p Data nor by comparing one.
  std::vector<unsigned> plain(BitVector Data) const {
    auto isPredicate = [](const Instruction &I) { return I.Op == Opcode::Setp || I.Ty.K == Type::Pred; };
    close(Data, [&](const Instruction &I) { return isPredicate(I) && hasAny(Data, I.Src); });
    std::vector<unsigned> Out;
    for (unsigned B : L.Blocks)
      for (unsigned At = C.Blocks[B].Begin; At < C.Blocks[B].End; ++At) {
        const Instruction &I = F.Body[At];
        if (I.Op == Opcode::Setp ? !hasAny(Data, I.Src) : I.Op == Opcode::Bra && I.Guard >= 0 && leavesLoop(C, L, B) && !has(Data, I.Guard))
          Out.push_back(At);
      }
    return Out;
  }

  /// Registers that a trip sets and a later one reads.
  BitVector carried() const {
    BitVector Set = writtenBy([](const Instruction &) { return true; });
    return Set &= liveIn(F, C, L.Blocks)[L.Header];
  }

  const Function &F;
  const ControlFlow &C;
  const Loop &L;
};

} // namespace

std::optional<Walk> walkOf(const Function &F, const ControlFlow &C, const Loop &L) { return WalkReader(F, C, L).run(); }
bool walksByStack(const Function &F, const ControlFlow &C, const Loop &L) { return WalkReader(F, C, L).isByStack(); }

} // namespace restride::ptx
