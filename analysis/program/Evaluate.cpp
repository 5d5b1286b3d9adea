#include "analysis/program/Evaluate.h"

#include "analysis/program/Around.h"
#include "analysis/program/ContainerSize.h"
#include "analysis/program/GpuProperties.h"
#include "analysis/program/InAllCalls.h"
#include "analysis/program/PartUse.h"
#include "analysis/program/Returned.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <cmath>

using namespace clang;

namespace restride {

template <typename T> std::optional<EstimateOf<T>> Evaluator::value(const Expr *E, Frame In) const {
  if constexpr (std::is_same_v<T, double>)
    return real(E, In);
  else
    return integer(E, In);
}

const Expr *withoutCleanups(const Expr *E) {
  const FullExpr *Full = dyn_cast<FullExpr>(E);
  return Full ? Full->getSubExpr()->IgnoreParens() : E;
}

llvm::ArrayRef<const Expr *> givenTo(const ParmVarDecl *P, const UnitFacts &Facts) {
  for (const auto *Given : {&Facts.Arguments, &Facts.Constructed})
    if (auto At = Given->find(P); At != Given->end())
      return At->second;
  return {};
}

const Expr *Evaluator::Frame::argument(const ParmVarDecl *P) const {
  const FunctionDecl *Definition = nullptr;
  if (!Callee || !Callee->hasBody(Definition) || P->getDeclContext() != Definition || P->getFunctionScopeIndex() >= Arguments.size())
    return nullptr;
  return Arguments[P->getFunctionScopeIndex()];
}

static std::vector<const Expr *> changesOf(const VarDecl *V, const UnitFacts &Facts) {
  auto At = Facts.Modified.find(V->getLocation().getRawEncoding());
  return At == Facts.Modified.end() ? std::vector<const Expr *>() : std::vector<const Expr *>(At->second.begin(), At->second.end());
}

template <typename T> std::optional<EstimateOf<T>> Evaluator::variable(const VarDecl *V, Frame In) const {
  unsigned Key = V->getLocation().getRawEncoding();
  const ParmVarDecl *P = dyn_cast<ParmVarDecl>(V);
  if (const Expr *Given = P ? In.argument(P) : nullptr)
    return value<T>(Given, In.around());
  if (auto At = Trial.find(V); At != Trial.end())
    return EstimateOf<T>{T(At->second.Value), At->second.Assumed};
  if (auto At = Sampled.find(V); At != Sampled.end())
    return EstimateOf<T>{T(At->second.Value), At->second.Assumed};
  if (P)
    return inAllCalls(givenTo(P, Facts), [&](const Expr *Argument) { return value<T>(Argument, In.deeper()); });
  auto known = [&]() -> auto & {
    if constexpr (std::is_same_v<T, double>)
      return Known.Reals;
    else
      return Known.Integers;
  };
  if (auto At = known().find(V); At != known().end() && !In.Callee && (At->second.Value || In.Depth >= At->second.Depth))
    return At->second.Value;
  const VarDecl *Definition = nullptr;
  const Expr *Init = V->getAnyInitializer(Definition);
  std::optional<EstimateOf<T>> Value = Init ? value<T>(Init, In.deeper()) : std::nullopt;
  if constexpr (std::is_same_v<T, int64_t>)
    if (const std::optional<int64_t> OfGpu = gpuAttribute(V, Facts, Context))
      return Estimate{*OfGpu, true};
  if (!Value) // "int n; ... n = 4096;"
    if (auto At = Facts.Assigned.find(Key); At != Facts.Assigned.end())
      for (const Expr *E : At->second)
        if (!Value)
          Value = value<T>(E, In.deeper());
  auto doubt = [&] {
    Doubt Out;
    if (auto At = Facts.Modified.find(Key); At != Facts.Modified.end())
      for (const DeclRefExpr *R : At->second)
        if (partUse(R, {}, Context).K != PartUse::Kind::None)
          Out |= loopsAround(R, Context).empty() ? Doubt::Default : Doubt::Changes;
    return Out;
  };
  if (const Doubt MayChange = Value && !V->getType().isConstQualified() ? doubt() : Doubt()) {
    if constexpr (std::is_same_v<T, int64_t>) {
      if (const std::optional<Estimate> Sum = addedUp(V, *Value, In))
        Value = Sum;
      else
        Value = grown(V, changesOf(V, Facts), *Value, In);
    }
    Value->Assumed |= MayChange;
  }
  if (!In.Callee && Trial.empty())
    known()[V] = {Value, In.Depth};
  return Value;
}

/// "(n + block - 1) / block" often hides in a function, a member or a lambda. Null: it does more.
const Expr *Evaluator::formulaOf(const CallExpr *C) {
  const FunctionDecl *F = C->getDirectCallee();
  const CXXMethodDecl *Method = dyn_cast_or_null<CXXMethodDecl>(F);
  return F && !(Method && Method->isVirtual()) && isFormula(F) && !changesState(F) ? lastReturned(F) : nullptr;
}

Evaluator::Frame Evaluator::intoCall(const CallExpr *C, const Frame &In) {
  const llvm::ArrayRef<const Expr *> Arguments = argumentsOf(C);
  const CXXMemberCallExpr *Member = dyn_cast<CXXMemberCallExpr>(C);
  const Expr *Object = Member ? Member->getImplicitObjectArgument() : Arguments.size() < C->getNumArgs() ? C->getArg(0) : nullptr;
  return In.into(C->getDirectCallee(), Arguments, Object);
}

template <typename T> std::optional<EstimateOf<T>> Evaluator::call(const CallExpr *C, Frame In) const {
  const FunctionDecl *F = C->getDirectCallee();
  if (!F || isa<CUDAKernelCallExpr>(C))
    return std::nullopt;
  llvm::StringRef Name = F->getDeclName().isIdentifier() ? F->getName() : "";
  if constexpr (std::is_same_v<T, int64_t>)
    if (const CXXMemberCallExpr *Member = dyn_cast<CXXMemberCallExpr>(C); Member && (Name == "size" || Name == "back") && !C->getNumArgs()) {
      const Expr *Object = Member->getImplicitObjectArgument();
      const ValueDecl *Outer = outerContainerOf(Object), *Container = containerOf(Object);
      if (const VarDecl *V = dyn_cast_or_null<VarDecl>(Container); V && Name == "back")
        return lastSum(V, nullptr, In);
      if (const std::optional<double> Mean = Outer && Name == "size" ? meanSize(Outer) : std::nullopt)
        return Estimate{std::llround(*Mean), Doubt::Changes};
      if (Container && !Outer && Name == "size")
        return sizeSoFar(Member, Container, In);
    }
  bool Min = Name == "min" || Name == "fmin" || Name == "fminf", Max = Name == "max" || Name == "fmax" || Name == "fmaxf";
  if ((Min || Max) && C->getNumArgs() == 2) {
    std::optional<EstimateOf<T>> L = value<T>(C->getArg(0), In.deeper()), R = value<T>(C->getArg(1), In.deeper());
    if (!L || !R)
      return std::nullopt;
    return EstimateOf<T>{Min == (L->Value < R->Value) ? L->Value : R->Value, L->Assumed | R->Assumed};
  }
  if constexpr (std::is_same_v<T, int64_t>)
    if ((Name.ends_with("round") || Name.ends_with("rint")) && Name.starts_with("l") && C->getNumArgs() == 1) {
      const std::optional<RealEstimate> Of = real(C->getArg(0), In.deeper());
      return Of && std::abs(Of->Value) < 1e18 ? std::optional(Estimate{std::llround(Of->Value), Of->Assumed}) : std::nullopt;
    }
  if constexpr (std::is_same_v<T, double>)
    if (const CXXMethodDecl *Method = dyn_cast<CXXMethodDecl>(F); !(Method && Method->isVirtual()) && isGenerator(F) && argumentsOf(C).empty())
      return RealEstimate{0.5, Doubt::Changes}; // from 0 to 1, most likely
  const Expr *Returned = formulaOf(C);
  if (!Returned)
    return std::nullopt;
  std::optional<EstimateOf<T>> Value = value<T>(Returned, intoCall(C, In));
  if (Value && !onlyReturns(F)) // "if (n < 1) return 0;"
    Value->Assumed |= Doubt::Default;
  return Value;
}

std::optional<Estimate> Evaluator::inCalls(const Expr *E, llvm::ArrayRef<const Expr *> Calls, const Frame &In) const {
  if (Calls.empty())
    return integer(E, In);
  const auto [F, Arguments] = calledBy(Calls.back());
  if (!F)
    return std::nullopt;
  const CXXMemberCallExpr *Member = dyn_cast<CXXMemberCallExpr>(Calls.back());
  const Expr *Object = isa<CXXConstructExpr>(Calls.back()) ? Calls.back() : Member ? Member->getImplicitObjectArgument() : nullptr;
  return inCalls(E, Calls.drop_back(), In.into(F, Arguments, Object));
}

/// `argc > 1 ? atof(argv[1]) : 4.2`: the arm that is known, where nobody knows which one is taken.
template <typename T> std::optional<EstimateOf<T>> Evaluator::choice(const ConditionalOperator *C, Frame In) const {
  if (std::optional<Estimate> Condition = integer(C->getCond(), In.deeper())) {
    std::optional<EstimateOf<T>> Arm = value<T>(Condition->Value ? C->getTrueExpr() : C->getFalseExpr(), In.deeper());
    if (Arm)
      Arm->Assumed |= Condition->Assumed;
    return Arm;
  }
  std::optional<EstimateOf<T>> Value = value<T>(C->getTrueExpr(), In.deeper());
  if (!Value)
    Value = value<T>(C->getFalseExpr(), In.deeper());
  if (Value)
    Value->Assumed |= Doubt::Default;
  return Value;
}

std::optional<RealEstimate> Evaluator::real(const Expr *E, Frame In) const {
  if (In.Depth > MaxDepth || E->isValueDependent())
    return std::nullopt;
  E = withoutCleanups(E->IgnoreParens());
  if (const MaterializeTemporaryExpr *M = dyn_cast<MaterializeTemporaryExpr>(E))
    return real(M->getSubExpr(), In.deeper());
  if (E->getType()->isIntegralOrEnumerationType()) {
    std::optional<Estimate> Whole = integer(E, In.deeper());
    return Whole ? std::optional(RealEstimate{double(Whole->Value), Whole->Assumed}) : std::nullopt;
  }
  llvm::APFloat Literal(0.0);
  if (E->getType()->isRealFloatingType() && E->EvaluateAsFloat(Literal, Context)) {
    bool Inexact = false;
    Literal.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &Inexact);
    return RealEstimate{Literal.convertToDouble(), false};
  }
  if (const CastExpr *C = dyn_cast<CastExpr>(E))
    return real(C->getSubExpr(), In.deeper());
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E)) {
    const VarDecl *V = dyn_cast<VarDecl>(R->getDecl());
    return V && V->getType()->isRealFloatingType() ? variable<double>(V, In) : std::nullopt;
  }
  if (const MemberExpr *M = dyn_cast<MemberExpr>(E))
    return member<double>(M, In);
  if (const ArraySubscriptExpr *Of = dyn_cast<ArraySubscriptExpr>(E))
    return arrayElement<double>(Of, In);
  if (const ConditionalOperator *C = dyn_cast<ConditionalOperator>(E))
    return choice<double>(C, In);
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E); U && U->getOpcode() == UO_Minus) {
    std::optional<RealEstimate> Of = real(U->getSubExpr(), In.deeper());
    return Of ? std::optional(RealEstimate{-Of->Value, Of->Assumed}) : std::nullopt;
  }
  if (const BinaryOperator *B = dyn_cast<BinaryOperator>(E)) {
    std::optional<RealEstimate> L = real(B->getLHS(), In.deeper()), R = real(B->getRHS(), In.deeper());
    if (!L || !R)
      return std::nullopt;
    const Doubt Assumed = L->Assumed | R->Assumed;
    switch (B->getOpcode()) {
    case BO_Add: return RealEstimate{L->Value + R->Value, Assumed};
    case BO_Sub: return RealEstimate{L->Value - R->Value, Assumed};
    case BO_Mul: return RealEstimate{L->Value * R->Value, Assumed};
    case BO_Div: if (R->Value == 0) return std::nullopt; return RealEstimate{L->Value / R->Value, Assumed};
    default: return std::nullopt;
    }
  }
  const CallExpr *C = dyn_cast<CallExpr>(E);
  const FunctionDecl *F = C ? C->getDirectCallee() : nullptr;
  if (!F)
    return std::nullopt;
  llvm::StringRef Name = F->getDeclName().isIdentifier() ? F->getName() : "";
  if ((Name == "pow" || Name == "powf") && C->getNumArgs() == 2) {
    const std::optional<RealEstimate> Base = real(C->getArg(0), In.deeper()), Power = real(C->getArg(1), In.deeper());
    return Base && Power ? std::optional(RealEstimate{std::pow(Base->Value, Power->Value), Base->Assumed | Power->Assumed}) : std::nullopt;
  }
  using Function = double (*)(double);
  const Function Known = llvm::StringSwitch<Function>(Name)
                             .Cases({"ceil", "ceilf"}, std::ceil)
                             .Cases({"floor", "floorf"}, std::floor)
                             .Cases({"round", "roundf"}, std::round)
                             .Cases({"sqrt", "sqrtf"}, std::sqrt)
                             .Cases({"cbrt", "cbrtf"}, std::cbrt)
                             .Cases({"log2", "log2f"}, std::log2)
                             .Cases({"log", "logf"}, std::log)
                             .Cases({"exp", "expf"}, std::exp)
                             .Cases({"sin", "sinf"}, std::sin)
                             .Cases({"cos", "cosf"}, std::cos)
                             .Cases({"tan", "tanf"}, std::tan)
                             .Cases({"fabs", "fabsf"}, std::fabs)
                             .Default(nullptr);
  if (!Known || C->getNumArgs() != 1)
    return call<double>(C, In);
  std::optional<RealEstimate> Of = real(C->getArg(0), In.deeper());
  if (Of)
    Of->Value = Known(Of->Value);
  return Of;
}

std::optional<Estimate> Evaluator::applied(BinaryOperatorKind Op, Estimate L, Estimate R) {
  Estimate Out{0, L.Assumed | R.Assumed};
  uint64_t A = L.Value, C = R.Value; // wraps instead of overflowing
  switch (Op) {
  case BO_Add: Out.Value = A + C; return Out;
  case BO_Sub: Out.Value = A - C; return Out;
  case BO_Mul: Out.Value = A * C; return Out;
  case BO_Div: if (!R.Value || R.Value == -1) return std::nullopt; Out.Value = L.Value / R.Value; return Out;
  case BO_Rem: if (!R.Value || R.Value == -1) return std::nullopt; Out.Value = L.Value % R.Value; return Out;
  case BO_Shl: if (C > 62) return std::nullopt; Out.Value = A << C; return Out;
  case BO_Shr: if (C > 62) return std::nullopt; Out.Value = L.Value >> C; return Out;
  case BO_And: Out.Value = A & C; return Out;
  case BO_Or: Out.Value = A | C; return Out;
  case BO_Xor: Out.Value = A ^ C; return Out;
  case BO_GT: Out.Value = L.Value > R.Value; return Out;
  case BO_LT: Out.Value = L.Value < R.Value; return Out;
  case BO_GE: Out.Value = L.Value >= R.Value; return Out;
  case BO_LE: Out.Value = L.Value <= R.Value; return Out;
  case BO_EQ: Out.Value = L.Value == R.Value; return Out;
  case BO_NE: Out.Value = L.Value != R.Value; return Out;
  case BO_LAnd: Out.Value = L.Value && R.Value; return Out;
  case BO_LOr: Out.Value = L.Value || R.Value; return Out;
  default: return std::nullopt;
  }
}

std::optional<Estimate> Evaluator::integer(const Expr *E, Frame In) const {
  constexpr unsigned MostNested = 1024; // the stack holds some times as many
  ++Nested;
  const llvm::scope_exit Leave([&] { --Nested; });
  if (Nested > MostNested || In.Depth > MaxDepth || E->isValueDependent())
    return std::nullopt;
  E = withoutCleanups(E->IgnoreParens());
  Expr::EvalResult Result;
  if (E->getType()->isIntegralOrEnumerationType() && E->EvaluateAsInt(Result, Context))
    return Estimate{Result.Val.getInt().getExtValue(), false};
  if (const MaterializeTemporaryExpr *M = dyn_cast<MaterializeTemporaryExpr>(E)) // std::min(n, 256)
    return integer(M->getSubExpr(), In.deeper());
  if (const CastExpr *C = dyn_cast<CastExpr>(E)) {
    if (C->getCastKind() != CK_FloatingToIntegral)
      return C->getCastKind() == CK_IntegralToFloating ? std::nullopt : integer(C->getSubExpr(), In.deeper());
    std::optional<RealEstimate> Value = real(C->getSubExpr(), In.deeper());
    return Value && std::abs(Value->Value) < 1e18 ? std::optional(Estimate{int64_t(Value->Value), Value->Assumed}) : std::nullopt;
  }
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E)) {
    const VarDecl *V = dyn_cast<VarDecl>(R->getDecl());
    return V && V->getType().getNonReferenceType()->isIntegralOrEnumerationType() ? variable<int64_t>(V, In) : std::nullopt;
  }
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E); U && U->getOpcode() == UO_Minus) {
    std::optional<Estimate> Of = integer(U->getSubExpr(), In.deeper());
    return Of ? applied(BO_Sub, {0, false}, *Of) : std::nullopt;
  }
  if (const MemberExpr *M = dyn_cast<MemberExpr>(E)) {
    std::optional<Estimate> Size = dimension(M, In);
    return Size ? Size : member<int64_t>(M, In);
  }
  if (const ConditionalOperator *C = dyn_cast<ConditionalOperator>(E))
    return choice<int64_t>(C, In);
  if (const BinaryOperator *B = dyn_cast<BinaryOperator>(E)) {
    if (B->isCommaOp() || B->getOpcode() == BO_Assign) // rows = columns = 4
      return integer(B->getRHS(), In.deeper());
    std::optional<Estimate> L = integer(B->getLHS(), In.deeper()), R = integer(B->getRHS(), In.deeper());
    if (!L && R && R->Value > 0 && (B->getOpcode() == BO_Rem || B->getOpcode() == BO_And)) // the mean
      return Estimate{R->Value / 2, Doubt::Changes};
    if (!L || !R)
      return std::nullopt;
    return applied(B->getOpcode(), *L, *R);
  }
  if (const auto [V, Index] = elementOf(E); V)
    if (const std::optional<Estimate> Sum = lastSum(V, Index, In))
      return Sum;
  if (const std::optional<Estimate> Mean = meanCount(E, In))
    return Mean;
  if (const ArraySubscriptExpr *Of = dyn_cast<ArraySubscriptExpr>(E)) // grid.pitch[1]
    return arrayElement<int64_t>(Of, In);
  const CallExpr *C = dyn_cast<CallExpr>(E);
  return C ? call<int64_t>(C, In) : std::nullopt;
}

template std::optional<Estimate> Evaluator::variable(const VarDecl *V, Frame In) const;
template std::optional<RealEstimate> Evaluator::variable(const VarDecl *V, Frame In) const;
template std::optional<Estimate> Evaluator::value(const Expr *E, Frame In) const;
template std::optional<RealEstimate> Evaluator::value(const Expr *E, Frame In) const;

} // namespace restride
