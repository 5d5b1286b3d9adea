// Where pointers lie: in arrays of pointers, `T *p[2]`, and behind their addresses, `T **p`.

#include "analysis/program/Around.h"
#include "analysis/program/Uses.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace restride {

/// \p E names an array of pointers: one of them is a pointer like any other.
void UseClassifier::entry(const Expr *E, Pointer P) {
  const VarDecl *Variable = nullptr;
  const Stmt *Above = parent(E, &Variable);
  if (isa_and_nonnull<LambdaExpr>(Above)) // by reference: what it does with it is seen inside
    return;
  if (Variable && Variable->isImplicit()) // the range of a loop
    return;
  const CastExpr *Decay = dyn_cast_or_null<CastExpr>(Above);
  const ArraySubscriptExpr *Entry = Decay && Decay->getCastKind() == CK_ArrayToPointerDecay ? dyn_cast_or_null<ArraySubscriptExpr>(parent(Decay)) : nullptr;
  if (!Entry || Entry->getBase() != Decay)
    return refuse(P, E->getExprLoc(), "the array of pointers is used as a whole; name one of its pointers");
  if (Caller && runsOnDevice(Caller))
    return refuse(P, E->getExprLoc(), "an array of pointers in device code; give each a name of its own");
  P.Base = Entry;
  pointer(Entry, P);
}

/// \p E names a parameter `T **p`: `*p` is a pointer like any other, and p may go on as the address of one.
void UseClassifier::addressed(const Expr *E, Pointer P) {
  Graph.facts(P.Node).Modified = true; // it never gets an index beside it
  const CastExpr *Value = dyn_cast_or_null<CastExpr>(parent(E));
  if (!Value || Value->getCastKind() != CK_LValueToRValue)
    return refuse(P, E->getExprLoc(), "the address of the pointer changes");
  const Expr *Outer = Value;
  while (isa_and_nonnull<ParenExpr>(parent(Outer)))
    Outer = cast<Expr>(parent(Outer));
  if (const UnaryOperator *U = dyn_cast_or_null<UnaryOperator>(parent(Outer)); U && U->getOpcode() == UO_Deref) {
    P.Base = U;
    return pointer(U, P);
  }
  addressGoesOn(Value, P);
}

/// \p E is the address of the pointer: the runtime allocates through it, or a function of the program does.
void UseClassifier::addressGoesOn(const Expr *E, const Pointer &P) {
  const Expr *Outer = E;
  const Stmt *Above = parent(Outer);
  while (Above && isa<CastExpr, ParenExpr>(Above)) {
    Outer = cast<Expr>(Above);
    Above = parent(Outer);
  }
  const CallExpr *Call = dyn_cast_or_null<CallExpr>(Above);
  if (Call && runtimeCall(Call, Outer, P, true))
    return;
  const FunctionDecl *Callee = Call && !isa<CXXOperatorCallExpr>(Call) ? Call->getDirectCallee() : nullptr;
  const unsigned At = Callee ? std::find(Call->arg_begin(), Call->arg_end(), Outer) - Call->arg_begin() : 0;
  std::optional<NodeId> Parameter = Callee && At < Callee->getNumParams() ? Graph.node(Callee->getParamDecl(At)) : std::nullopt;
  if (!Parameter || !Graph.facts(*Parameter).ByAddress || Outer->IgnoreParenImpCasts() != E->IgnoreParenImpCasts())
    return refuse(P, E->getExprLoc(), "the address of the pointer is taken");
  if (!Callee->isDefined())
    Graph.require(P.Node, Graph.function(Callee), E->getExprLoc(), "the pointer is passed to '" + Callee->getNameAsString() + "', whose body is not seen");
  Pointer Whole = P;
  Whole.Base = Outer;
  asArgument(Call, Outer, Whole, *Parameter);
}

} // namespace restride
