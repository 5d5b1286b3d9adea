#include "analysis/program/Evaluate.h"

#include "clang/AST/ParentMapContext.h"

#include <algorithm>

using namespace clang;

namespace restride {

static constexpr unsigned MaxDepth = 32;

std::optional<Estimate> Evaluator::variable(const VarDecl *V, unsigned Depth) const {
  unsigned Key = V->getLocation().getRawEncoding();
  if (isa<ParmVarDecl>(V)) {
    auto At = Facts.Arguments.find(Key);
    if (At == Facts.Arguments.end())
      return std::nullopt;
    std::optional<Estimate> One;
    for (const Expr *Argument : At->second) {
      std::optional<Estimate> Next = integer(Argument, Depth + 1);
      if (!Next || (One && One->Value != Next->Value))
        return std::nullopt;
      One = Next;
    }
    return One;
  }
  const VarDecl *Definition = nullptr;
  const Expr *Init = V->getAnyInitializer(Definition);
  std::optional<Estimate> Value = Init ? integer(Init, Depth + 1) : std::nullopt;
  if (!Value) // "int n; ... n = 4096;"
    if (auto At = Facts.Assigned.find(Key); At != Facts.Assigned.end())
      for (const Expr *E : At->second)
        if (!Value)
          Value = integer(E, Depth + 1);
  if (Value && !V->getType().isConstQualified() && isModified(Facts, V))
    Value->Assumed = true;
  return Value;
}

std::optional<Estimate> Evaluator::integer(const Expr *E, unsigned Depth) const {
  if (Depth > MaxDepth || E->isValueDependent())
    return std::nullopt;
  E = E->IgnoreParens();
  Expr::EvalResult Result;
  if (E->getType()->isIntegralOrEnumerationType() && E->EvaluateAsInt(Result, Context))
    return Estimate{Result.Val.getInt().getExtValue(), false};
  if (const CastExpr *C = dyn_cast<CastExpr>(E)) {
    if (C->getCastKind() == CK_FloatingToIntegral || C->getCastKind() == CK_IntegralToFloating)
      return std::nullopt;
    return integer(C->getSubExpr(), Depth + 1);
  }
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E)) {
    const VarDecl *V = dyn_cast<VarDecl>(R->getDecl());
    return V && V->getType()->isIntegralOrEnumerationType() ? variable(V, Depth) : std::nullopt;
  }
  if (const ConditionalOperator *C = dyn_cast<ConditionalOperator>(E)) {
    if (std::optional<Estimate> Condition = integer(C->getCond(), Depth + 1)) {
      std::optional<Estimate> Arm = integer(Condition->Value ? C->getTrueExpr() : C->getFalseExpr(), Depth + 1);
      if (Arm)
        Arm->Assumed |= Condition->Assumed;
      return Arm;
    }
    std::optional<Estimate> Value = integer(C->getTrueExpr(), Depth + 1);
    if (!Value)
      Value = integer(C->getFalseExpr(), Depth + 1);
    if (Value)
      Value->Assumed = true;
    return Value;
  }
  if (const BinaryOperator *B = dyn_cast<BinaryOperator>(E)) {
    if (B->isCommaOp())
      return integer(B->getRHS(), Depth + 1);
    std::optional<Estimate> L = integer(B->getLHS(), Depth + 1), R = integer(B->getRHS(), Depth + 1);
    if (!L || !R)
      return std::nullopt;
    Estimate Out{0, L->Assumed || R->Assumed};
    uint64_t A = L->Value, C = R->Value; // wraps instead of overflowing
    switch (B->getOpcode()) {
    case BO_Add: Out.Value = A + C; return Out;
    case BO_Sub: Out.Value = A - C; return Out;
    case BO_Mul: Out.Value = A * C; return Out;
    case BO_Div: if (!R->Value || R->Value == -1) return std::nullopt; Out.Value = L->Value / R->Value; return Out;
    case BO_Rem: if (!R->Value || R->Value == -1) return std::nullopt; Out.Value = L->Value % R->Value; return Out;
    case BO_Shl: if (C > 62) return std::nullopt; Out.Value = A << C; return Out;
    case BO_Shr: if (C > 62) return std::nullopt; Out.Value = L->Value >> C; return Out;
    case BO_GT: Out.Value = L->Value > R->Value; return Out;
    case BO_LT: Out.Value = L->Value < R->Value; return Out;
    default: return std::nullopt;
    }
  }
  if (const CallExpr *C = dyn_cast<CallExpr>(E)) {
    // "(n + block - 1) / block" often hides in a function of one return.
    const FunctionDecl *F = C->getDirectCallee(), *Definition = nullptr;
    if (F && F->getDeclName().isIdentifier() && (F->getName() == "min" || F->getName() == "max") && C->getNumArgs() == 2) {
      std::optional<Estimate> L = integer(C->getArg(0), Depth + 1), R = integer(C->getArg(1), Depth + 1);
      if (!L || !R)
        return std::nullopt;
      bool Less = L->Value < R->Value;
      return Estimate{(F->getName() == "min") == Less ? L->Value : R->Value, L->Assumed || R->Assumed};
    }
    if (!F || !F->hasBody(Definition))
      return std::nullopt;
    const CompoundStmt *Body = dyn_cast<CompoundStmt>(Definition->getBody());
    const ReturnStmt *Return = Body && Body->size() == 1 ? dyn_cast<ReturnStmt>(Body->body_front()) : nullptr;
    return Return && Return->getRetValue() ? integer(Return->getRetValue(), Depth + 1) : std::nullopt;
  }
  return std::nullopt;
}

void Evaluator::dimensions(const Expr *E, uint64_t Out[3], bool &Assumed) const {
  E = E->IgnoreUnlessSpelledInSource()->IgnoreParenImpCasts();
  auto Set = [&](unsigned I, const Expr *Value) {
    std::optional<Estimate> V = integer(Value);
    Out[I] = V && V->Value > 0 ? V->Value : 0;
    Assumed |= !V || V->Assumed;
  };
  if (E->getType()->isIntegralOrEnumerationType()) {
    Set(0, E);
    Out[1] = Out[2] = 1;
    return;
  }
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E)) {
    const VarDecl *V = dyn_cast<VarDecl>(R->getDecl());
    if (V && V->getAnyInitializer())
      return dimensions(V->getAnyInitializer(), Out, Assumed);
  }
  if (const CXXFunctionalCastExpr *C = dyn_cast<CXXFunctionalCastExpr>(E))
    return dimensions(C->getSubExpr(), Out, Assumed);
  llvm::SmallVector<const Expr *, 3> Values;
  if (const CXXConstructExpr *C = dyn_cast<CXXConstructExpr>(E)) {
    if (C->getConstructor()->isCopyOrMoveConstructor())
      return dimensions(C->getArg(0), Out, Assumed);
    Values.append(C->arg_begin(), C->arg_end());
  } else if (const InitListExpr *L = dyn_cast<InitListExpr>(E)) {
    Values.append(L->inits().begin(), L->inits().end());
  } else {
    Assumed = true;
    return;
  }
  for (unsigned I = 0; I < 3; ++I) {
    Out[I] = 1;
    if (I < Values.size() && !isa<CXXDefaultArgExpr>(Values[I]))
      Set(I, Values[I]);
  }
}

/// Trips of `for (i = a; i < b; i += c)`.
static std::optional<double> trips(const ForStmt *For, const Evaluator &Values) {
  const BinaryOperator *Condition = dyn_cast_or_null<BinaryOperator>(For->getCond());
  if (!Condition || !Condition->isComparisonOp())
    return std::nullopt;
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>(Condition->getLHS()->IgnoreParenImpCasts());
  const VarDecl *V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
  if (!V || !V->getInit())
    return std::nullopt;
  std::optional<Estimate> From = Values.integer(V->getInit()), To = Values.integer(Condition->getRHS());
  if (!From || !To)
    return std::nullopt;
  double Step = 1;
  if (const BinaryOperator *Inc = dyn_cast_or_null<BinaryOperator>(For->getInc())) {
    std::optional<Estimate> By = Values.integer(Inc->getRHS());
    if (!Inc->isCompoundAssignmentOp() || !By || !By->Value)
      return std::nullopt;
    Step = std::abs(double(By->Value));
  }
  return std::max(0.0, std::abs(double(To->Value) - double(From->Value)) / Step);
}

double Evaluator::timesExecuted(const Stmt *S, ASTContext &Ctx) const {
  double Times = 1;
  DynTypedNode Node = DynTypedNode::create(*S);
  const Stmt *Child = S;
  for (unsigned Depth = 0; Depth < 1000; ++Depth) {
    auto Parents = Ctx.getParents(Node);
    if (Parents.empty() || Parents[0].get<FunctionDecl>())
      break;
    Node = Parents[0];
    const Stmt *Parent = Node.get<Stmt>();
    if (const ForStmt *For = dyn_cast_or_null<ForStmt>(Parent); For && For->getInit() != Child)
      Times *= trips(For, *this).value_or(UnknownLoopTrips);
    else if (Parent && isa<WhileStmt, DoStmt, CXXForRangeStmt>(Parent) && isa_and_nonnull<CompoundStmt>(Child))
      // do { ... } while (0) is how macros wrap statements.
      Times *= isa<DoStmt>(Parent) && cast<DoStmt>(Parent)->getCond()->isIntegerConstantExpr(Ctx) ? 1 : UnknownLoopTrips;
    if (Parent)
      Child = Parent;
  }
  return std::max(1.0, Times);
}

} // namespace restride
