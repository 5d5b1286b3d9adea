// Floating-point numbers of the host that are drawn at random, cut to integers or compared.

#include "analysis/program/FillFormula.h"
#include "analysis/program/HostPlaces.h"

#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <cmath>

using namespace clang;

namespace restride {

static constexpr unsigned MaxDepth = 32, MaxRanges = 512;
static constexpr double Largest = 0x1p62;
/// Generators give so many numbers at least: `rand() / (float)RAND_MAX`.
static constexpr double Fewest = 0x7fff;

std::optional<double> FillFormula::fixedReal(const Expr *E, unsigned Depth) {
  const std::optional<RealEstimate> Known = varies(E, Depth) ? std::nullopt : Values.real(E);
  return Known && std::abs(Known->Value) < Largest ? std::optional(Known->Value) : std::nullopt;
}

std::optional<FillFormula::Range> FillFormula::drawnRangeOf(const CallExpr *C, unsigned Depth) {
  const FunctionDecl *F = C->getDirectCallee();
  enum class Keeps { Nothing, Shares, Ranges };
  const Keeps Which = llvm::StringSwitch<Keeps>(identifierOf(F))
                          .Cases({"sqrt", "sqrtf", "pow", "powf", "fabs", "fabsf"}, Keeps::Shares)
                          .Cases({"floor", "floorf", "ceil", "ceilf", "round", "roundf", "trunc", "truncf"}, Keeps::Ranges)
                          .Default(Keeps::Nothing);
  if (Which != Keeps::Nothing) {
    const std::optional<Range> Of = C->getNumArgs() > 0 ? drawnRange(C->getArg(0), Depth + 1) : std::nullopt;
    return Of && (Which == Keeps::Ranges || (Of->Low >= 0 && Of->High <= 1)) ? Of : std::nullopt;
  }
  if (const std::optional<DrawnBetween> Between = drawnBetween(C)) {
    const std::optional<double> Low = Between->Low ? fixedReal(Between->Low, Depth) : 0, High = fixedReal(Between->High, Depth);
    return Low && High && *Low < *High ? std::optional(Range{*Low, *High}) : std::nullopt;
  }
  const bool IsOwn = !F || !Context.getSourceManager().isInSystemHeader(F->getLocation());
  return IsOwn || drawsAtRandom(C) ? std::optional(Range()) : std::nullopt;
}

std::optional<FillFormula::Range> FillFormula::drawnRangeOf(const BinaryOperator *B, unsigned Depth) {
  const BinaryOperatorKind What = B->getOpcode();
  const std::optional<double> KnownL = fixedReal(B->getLHS(), Depth), KnownR = fixedReal(B->getRHS(), Depth);
  auto isWholeDraw = [](const Expr *E) { return E->IgnoreParenCasts()->getType()->isIntegerType() && anyDraw(E); };
  if ((What == BO_Div && KnownR && *KnownR >= Fewest && isWholeDraw(B->getLHS())) ||
      (What == BO_Mul && KnownR && *KnownR > 0 && *KnownR <= 1 / Fewest && isWholeDraw(B->getLHS())))
    return Range(); // of all numbers that the generator gives
  const std::optional<Range> L = KnownL ? Range{*KnownL, *KnownL} : drawnRange(B->getLHS(), Depth + 1);
  const std::optional<Range> R = KnownR ? Range{*KnownR, *KnownR} : drawnRange(B->getRHS(), Depth + 1);
  if (!L || !R || (KnownL && KnownR))
    return std::nullopt;
  switch (What) {
  case BO_Add: return Range{L->Low + R->Low, L->High + R->High};
  case BO_Sub: return Range{L->Low - R->High, L->High - R->Low};
  case BO_Mul: {
    const auto [Low, High] = std::minmax({L->Low * R->Low, L->Low * R->High, L->High * R->Low, L->High * R->High});
    return Range{Low, High};
  }
  case BO_Div: return KnownR && *KnownR > 0 ? std::optional(Range{L->Low / *KnownR, L->High / *KnownR}) : std::nullopt;
  default: return std::nullopt;
  }
}

std::optional<FillFormula::Range> FillFormula::drawnRange(const Expr *Real, unsigned Depth) {
  if (Depth > MaxDepth || ++Ranges > MaxRanges) // y = x * x; z = y * y; ... asks for x again and again
    return std::nullopt;
  Real = Real->IgnoreParens();
  if (const CastExpr *C = dyn_cast<CastExpr>(Real); C && C->getCastKind() != CK_FloatingToIntegral)
    return drawnRange(C->getSubExpr(), Depth + 1);
  if (!Real->getType()->isFloatingType()) {
    const BinaryOperator *B = dyn_cast<BinaryOperator>(Real); // (rand() % 1000) / 1000.0f
    const bool IsBelow = B && B->getOpcode() == BO_Rem && anyDraw(B->getLHS());
    const std::optional<double> Bound = IsBelow ? fixedReal(B->getRHS(), Depth) : std::nullopt;
    return Bound && *Bound > 0 ? std::optional(Range{0, *Bound}) : std::nullopt;
  }
  if (const CallExpr *C = dyn_cast<CallExpr>(Real))
    return drawnRangeOf(C, Depth);
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(Real)) {
    const VarDecl *V = dyn_cast<VarDecl>(R->getDecl());
    return V && V->isLocalVarDecl() && V->getInit() && !changesInside(V) ? drawnRange(V->getInit(), Depth + 1) : std::nullopt;
  }
  const BinaryOperator *B = dyn_cast<BinaryOperator>(Real);
  return B ? drawnRangeOf(B, Depth) : std::nullopt;
}

bool FillFormula::isBounded(const Range &R) { return std::abs(R.Low) < Largest && std::abs(R.High) < Largest; }

std::optional<uint32_t> FillFormula::cutShare(const Expr *Real, unsigned Depth) {
  const std::optional<Range> Of = drawnRange(Real, Depth);
  if (!Of || !isBounded(*Of))
    return std::nullopt;
  const double First = std::trunc(Of->Low), Last = Of->High > 0 ? std::ceil(Of->High) - 1 : std::trunc(Of->High);
  const uint32_t Any = push({FillNode::Op::Unknown, 64, true});
  const uint32_t Above = binary(FillNode::Op::Rem, Any, constant(int64_t(std::max(Last - First, 0.0)) + 1));
  return First == 0 ? Above : binary(FillNode::Op::Add, Above, constant(int64_t(First)));
}

uint32_t FillFormula::oneIn(double Share) {
  constexpr int64_t Parts = 1 << 20;
  const uint32_t Any = push({FillNode::Op::Unknown, 64, true}), Part = binary(FillNode::Op::And, Any, constant(Parts - 1));
  return binary(FillNode::Op::Less, Part, constant(std::llround(std::clamp(Share, 0.0, 1.0) * double(Parts))));
}

/// `draw() < 0.04`: true so often.
std::optional<uint32_t> FillFormula::shareBelow(const BinaryOperator *B, unsigned Depth) {
  const bool Below = B->getOpcode() == BO_LT || B->getOpcode() == BO_LE;
  if (!B->isRelationalOp() || !B->getLHS()->getType()->isFloatingType() || !B->getRHS()->getType()->isFloatingType())
    return std::nullopt;
  for (auto [Drawn, Bound, Swapped] : {std::tuple(B->getLHS(), B->getRHS(), false), std::tuple(B->getRHS(), B->getLHS(), true)}) {
    const std::optional<Range> Of = drawnRange(Drawn, Depth);
    const std::optional<double> Known = Of && isBounded(*Of) && Of->Low < Of->High ? fixedReal(Bound, Depth) : std::nullopt;
    if (!Known)
      continue;
    const double Less = (*Known - Of->Low) / (Of->High - Of->Low);
    return oneIn(Below != Swapped ? Less : 1 - Less);
  }
  return std::nullopt;
}

} // namespace restride
