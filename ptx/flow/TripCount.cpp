#include "ptx/flow/ControlFlow.h"
#include "ptx/flow/Induction.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace restride::ptx;

namespace {

/// Constants that reach a place in the text, through copies.
class Constants {
public:
  Constants(const Function &F, const ControlFlow &C) : F(F), C(C) {}

  /// Value of \p Reg where control enters loop \p L from outside.
  std::optional<int64_t> onEntry(int Reg, int L, unsigned Depth = 0) const {
    std::vector<unsigned> Work;
    const unsigned Header = C.Loops[L].Header;
    for (unsigned P : C.Blocks[Header].Preds)
      if (!C.inLoop(P, L))
        Work.push_back(P);
    return atEnds(Reg, std::move(Work), Depth);
  }

private:
  std::optional<int64_t> value(const Operand &Op, unsigned At, unsigned Depth) const {
    if (Op.K == Operand::Immediate)
      return Op.Imm;
    if (Op.K != Operand::Register || Op.Reg < 0)
      return std::nullopt;
    const unsigned B = C.blockOf(At);
    if (int Write = lastWrite(Op.Reg, C.Blocks[B].Begin, At); Write >= 0)
      return written(unsigned(Write), Depth + 1);
    return atEnds(Op.Reg, C.Blocks[B].Preds, Depth + 1);
  }

  int lastWrite(int Reg, unsigned Begin, unsigned End) const {
    for (unsigned I = End; I > Begin; --I)
      for (const Operand &D : F.Body[I - 1].Dest)
        if (D.K == Operand::Register && D.Reg == Reg)
          return int(I - 1);
    return -1;
  }

  std::optional<int64_t> written(unsigned At, unsigned Depth) const {
    const Instruction &I = F.Body[At];
    constexpr unsigned MaxDepth = 8;
    if (I.Op != Opcode::Mov || I.Guard >= 0 || I.Src.size() != 1 || Depth > MaxDepth)
      return std::nullopt;
    return value(I.Src[0], At, Depth);
  }

  /// The one value that \p Reg has at the ends of all blocks in \p Work.
  std::optional<int64_t> atEnds(int Reg, std::vector<unsigned> Work, unsigned Depth) const {
    std::optional<int64_t> Value;
    llvm::BitVector Seen(unsigned(C.Blocks.size()));
    if (Work.empty())
      return std::nullopt;
    while (!Work.empty()) {
      unsigned B = Work.back();
      Work.pop_back();
      if (Seen[B])
        continue;
      Seen.set(B);
      int Write = lastWrite(Reg, C.Blocks[B].Begin, C.Blocks[B].End);
      if (Write < 0) {
        if (C.Blocks[B].Preds.empty())
          return std::nullopt; // a parameter, or never written
        llvm::append_range(Work, C.Blocks[B].Preds);
        continue;
      }
      std::optional<int64_t> Here = written(unsigned(Write), Depth);
      if (!Here || (Value && *Value != *Here))
        return std::nullopt;
      Value = Here;
    }
    return Value;
  }

  const Function &F;
  const ControlFlow &C;
};

} // namespace

TripCount restride::ptx::tripCount(const Function &F, const ControlFlow &C, const Loop &L) {
  TripCount Out;
  const LoopInductions Inductions = inductions(F, C, L);
  if (!Inductions.Test) {
    Out.Why = Inductions.Why;
    return Out;
  }
  const ExitTest &T = *Inductions.Test;
  const int LoopNumber = int(&L - C.Loops.data());
  const Constants Known(F, C);
  auto Sum = [&](const Step &S) -> std::optional<int64_t> {
    int64_t Total = S.Constant;
    for (const Step::Term &Term : S.Terms) {
      std::optional<int64_t> V = Known.onEntry(Term.Reg, LoopNumber);
      if (!V)
        return std::nullopt;
      Total += Term.Subtract ? -*V : *V;
    }
    return Total;
  };
  Out.K = TripCount::Parametric;
  Out.InductionRegister = T.Counter;
  Out.Start = Known.onEntry(T.Counter, LoopNumber);
  Out.Bound = T.Bound.K == Operand::Immediate ? T.Bound.Imm : Known.onEntry(T.Bound.Reg, LoopNumber);
  std::optional<int64_t> By = Sum(T.By), Before = Sum(T.BeforeTest);
  Out.Step = By.value_or(0);
  if (!Out.Start || !Out.Bound || !By || !Before)
    return Out;

  // tripsLeft counts from a test that stayed: pretend one just before the first.
  const uint64_t First = uint64_t(*Out.Start) + uint64_t(*Before);
  std::optional<uint64_t> Tests = tripsLeft(First - uint64_t(*By), uint64_t(*Out.Bound), *By, T);
  if (!Tests) {
    Out.K = TripCount::Unknown;
    Out.Why = "the counter wraps around or never reaches its bound";
    return Out;
  }
  Out.K = TripCount::Constant;
  Out.Trips = int64_t(*Tests) - (T.TestsAtTop ? 1 : 0);
  return Out;
}

/// Ceiling of A / B for A >= 0, B > 0.
static uint64_t ceilDiv(int64_t A, int64_t B) { return uint64_t(A) / uint64_t(B) + (A % B != 0); }

std::optional<uint64_t> restride::ptx::tripsLeft(uint64_t Value, uint64_t Bound, int64_t By, const ExitTest &T) {
  if (T.Stay == Relation::Equal)
    return 1;
  const unsigned Bits = T.Bits;
  if (Bits == 0 || Bits > 64)
    return std::nullopt;
  auto Extend = [&](uint64_t V) { return T.Signed ? signExtend(V, Bits) : int64_t(lowBits(V, Bits)); };
  if (T.Stay == Relation::NotEqual) {
    int64_t Distance = signExtend(Bound - Value, Bits);
    if (By == 0 || By == INT64_MIN || Distance == INT64_MIN || Distance % By != 0 || Distance / By <= 0)
      return std::nullopt;
    return uint64_t(Distance / By);
  }
  const bool Up = T.Stay == Relation::Less || T.Stay == Relation::LessEqual;
  if (By == INT64_MIN || (Up ? By <= 0 : By >= 0))
    return std::nullopt;
  int64_t Distance = 0;
  if (llvm::SubOverflow(Up ? Extend(Bound) : Extend(Value), Up ? Extend(Value) : Extend(Bound), Distance) ||
      Distance < 0)
    return std::nullopt;
  const int64_t Pace = Up ? By : -By;
  if (T.Stay == Relation::LessEqual || T.Stay == Relation::GreaterEqual)
    return uint64_t(Distance / Pace) + 1;
  return std::max<uint64_t>(ceilDiv(Distance, Pace), 1);
}
