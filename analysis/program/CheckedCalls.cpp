#include "analysis/program/CheckedCalls.h"
#include "analysis/program/Around.h"
#include "analysis/program/Purity.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace restride {

static constexpr unsigned MaxDepth = 4;

static const Expr *plain(const Expr *E) {
  for (;;) {
    const Expr *Inner = E->IgnoreParenCasts();
    if (const ExprWithCleanups *C = dyn_cast<ExprWithCleanups>(Inner))
      Inner = C->getSubExpr();
    if (Inner == E)
      return E;
    E = Inner;
  }
}

namespace {

/// Looks for anything that happens although the call succeeds.
class Checks {
public:
  Checks(const CallExpr *Call, ASTContext &Context) : Call(Call), Context(Context) {}

  bool harmless(const Stmt *S, unsigned Depth = 0) {
    if (!S || isa<NullStmt>(S))
      return true;
    if (const Expr *E = dyn_cast<Expr>(S))
      return harmlessValue(E, Depth);
    if (const CompoundStmt *C = dyn_cast<CompoundStmt>(S))
      return llvm::all_of(C->body(), [&](const Stmt *One) { return harmless(One, Depth); });
    if (const DeclStmt *D = dyn_cast<DeclStmt>(S))
      return llvm::all_of(D->decls(), [&](const Decl *One) {
        const VarDecl *V = dyn_cast<VarDecl>(One);
        return V && V->hasLocalStorage() && (!V->getInit() || harmlessValue(V->getInit(), Depth));
      });
    if (const IfStmt *I = dyn_cast<IfStmt>(S)) {
      if (I->getInit() || I->getConditionVariable() || !harmlessValue(I->getCond(), Depth))
        return false;
      std::optional<bool> Fails = asksForFailure(I->getCond());
      return Fails && harmless(*Fails ? I->getElse() : I->getThen(), Depth);
    }
    if (const DoStmt *D = dyn_cast<DoStmt>(S)) // do { ... } while (0)
      return harmless(D->getBody(), Depth) && isConstant(D->getCond(), 0);
    if (const ReturnStmt *R = dyn_cast<ReturnStmt>(S))
      return Depth > 0 && (!R->getRetValue() || harmlessValue(R->getRetValue(), Depth));
    return false;
  }

private:
  bool isConstant(const Expr *E, int64_t Value) {
    Expr::EvalResult R;
    return !E->isValueDependent() && E->EvaluateAsInt(R, Context) && R.Val.getInt() == Value;
  }

  /// Whether \p Condition holds when an error code is one; nothing for other conditions.
  std::optional<bool> asksForFailure(const Expr *Condition) {
    const Expr *E = plain(Condition);
    if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E); U && U->getOpcode() == UO_LNot) {
      std::optional<bool> Inner = asksForFailure(U->getSubExpr());
      return Inner ? std::optional(!*Inner) : Inner;
    }
    if (const BinaryOperator *B = dyn_cast<BinaryOperator>(E)) {
      bool Success = isConstant(B->getLHS(), 0) || isConstant(B->getRHS(), 0);
      if (!Success || !B->isEqualityOp() || !(isCode(B->getLHS()) || isCode(B->getRHS())))
        return std::nullopt;
      return B->getOpcode() == BO_NE;
    }
    return isCode(E) ? std::optional(true) : std::nullopt;
  }

  static bool isCode(const Expr *E) {
    E = plain(E);
    const EnumType *T = E->getType()->getAs<EnumType>();
    return T && T->getDecl()->getName() == "cudaError";
  }

  bool harmlessValue(const Expr *Value, unsigned Depth) {
    const Expr *E = plain(Value);
    if (E == Call || isPure(E))
      return true;
    if (const BinaryOperator *B = dyn_cast<BinaryOperator>(E))
      return !B->isAssignmentOp() && harmlessValue(B->getLHS(), Depth) && harmlessValue(B->getRHS(), Depth);
    if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E))
      return !U->isIncrementDecrementOp() && harmlessValue(U->getSubExpr(), Depth);
    if (const ConditionalOperator *C = dyn_cast<ConditionalOperator>(E)) {
      std::optional<bool> Fails = asksForFailure(C->getCond());
      return Fails && harmlessValue(C->getCond(), Depth) && harmlessValue(*Fails ? C->getFalseExpr() : C->getTrueExpr(), Depth);
    }
    if (const CallExpr *Other = dyn_cast<CallExpr>(E)) {
      const FunctionDecl *F = Other->getDirectCallee();
      return F && Depth < MaxDepth && F->hasBody(F) && llvm::all_of(Other->arguments(), [&](const Expr *A) { return harmlessValue(A, Depth + 1); }) &&
             harmless(F->getBody(), Depth + 1);
    }
    return false;
  }

  const CallExpr *Call;
  ASTContext &Context;
};

} // namespace

std::optional<Range> checkedStatement(const CallExpr *Call, ASTContext &Context, const SourceView &View) {
  Surroundings Around = surroundings(Call, Context);
  if (!Around.Block || isa<DeclStmt>(Around.Statement) || !Checks(Call, Context).harmless(Around.Statement))
    return std::nullopt;
  auto Text = [&](const Stmt *S) { return View.range(View.sourceManager().getExpansionRange(S->getSourceRange()).getAsRange()); };
  std::optional<Range> Out = Text(Around.Statement);
  for (const Stmt *Other : Around.Block->body()) // a macro may write several statements
    if (std::optional<Range> R = Out && Other != Around.Statement ? Text(Other) : std::nullopt; R && R->Begin < Out->End && Out->Begin < R->End)
      return std::nullopt;
  return Out;
}

} // namespace restride
