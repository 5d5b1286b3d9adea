// Where a std::unique_ptr that owns the array goes, and what is done with it.

#include "analysis/program/HostPlaces.h"
#include "analysis/program/Owners.h"
#include "analysis/program/Uses.h"

#include "clang/AST/ParentMapContext.h"

using namespace clang;

namespace restride {

/// `owner[i]` of managed memory, where \p Owner names that: an element behind `owner.get()`.
void UseClassifier::ownedElement(const CXXOperatorCallExpr *Subscript, const Expr *Owner, const Pointer &P) {
  Pointer Inside = P;
  Inside.Base = Owner;
  Inside.Owned = true;
  Inside.Terms.push_back({Subscript->getArg(1), "", false});
  element(Subscript, Inside);
}

/// \p E names an owner.
void UseClassifier::owner(const Expr *E, const Pointer &P) {
  const Expr *Object = E;
  const Stmt *Up = parent(Object);
  while (isa_and_nonnull<ParenExpr, ImplicitCastExpr>(Up)) {
    Object = cast<Expr>(Up);
    Up = parent(Object);
  }
  if (isa_and_nonnull<LambdaExpr>(Up)) // by reference: what it does with it is seen inside
    return;
  const MemberExpr *Member = dyn_cast_or_null<MemberExpr>(Up);
  const CXXMemberCallExpr *Method = Member && Member->getBase() == Object ? dyn_cast_or_null<CXXMemberCallExpr>(parent(Member)) : nullptr;
  if (Method) {
    const llvm::StringRef Name = identifierOf(Method->getMethodDecl());
    if (ownerOf(Method)) {
      Pointer Inside = P;
      Inside.Base = Method;
      return resultIsUnused(Method) ? void() : pointer(Method, Inside);
    }
    if (Name == "reset")
      return Method->getNumArgs() && !isa<CXXDefaultArgExpr>(Method->getArg(0)) && !Method->getArg(0)->getType()->isNullPtrType()
                 ? flowInto(P.Node, Method->getArg(0))
                 : void();
    if (Name == "swap" && Method->getNumArgs() == 1)
      return flowInto(P.Node, Method->getArg(0));
    if (isa<CXXConversionDecl>(Method->getMethodDecl())) // if (owner)
      return;
    return refuse(P, E->getExprLoc(), "the pointer's owner is asked for more than its pointer");
  }
  const CallExpr *Call = dyn_cast_or_null<CallExpr>(Up);
  if (const CXXOperatorCallExpr *Operator = dyn_cast_or_null<CXXOperatorCallExpr>(Call)) {
    const OverloadedOperatorKind Kind = Operator->getOperator();
    if (Kind == OO_Equal && Operator->getArg(0) == Object)
      return Operator->getArg(1)->getType()->isNullPtrType() ? void() : flowInto(P.Node, Operator->getArg(1));
    const bool Compares = (Kind == OO_EqualEqual || Kind == OO_ExclaimEqual) && Operator->getNumArgs() == 2;
    if (Compares && (Operator->getArg(0)->getType()->isNullPtrType() || Operator->getArg(1)->getType()->isNullPtrType()))
      return;
    if (Kind == OO_Subscript && Operator->getArg(0) == Object)
      return ownedElement(Operator, E, P);
    return refuse(P, E->getExprLoc(), "an element is reached on the host, through the pointer's owner");
  }
  if (Call && Call->isCallToStdMove())
    return ownerGoesOn(Call, P);
  const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
  if (Callee && Callee->isInStdNamespace() && identifierOf(Callee) == "swap" && Call->getNumArgs() == 2)
    return flowInto(P.Node, Call->getArg(Call->getArg(0) == Object));
  ownerGoesOn(Object, P);
}

/// \p E, an owner's value or a reference to one, goes where it is followed.
void UseClassifier::ownerGoesOn(const Expr *E, const Pointer &P) {
  const auto Unknown = [&] { refuse(P, E->getExprLoc(), "the pointer's owner goes where it cannot be followed"); };
  const VarDecl *Variable = nullptr;
  const Stmt *Up = parent(E, &Variable);
  while (Up && (isa<ParenExpr, CastExpr, FullExpr, MaterializeTemporaryExpr, CXXBindTemporaryExpr>(Up) ||
                (isa<CXXConstructExpr>(Up) && ownedRecord(cast<Expr>(Up)->getType(), View)) ||
                (isa<CallExpr>(Up) && cast<CallExpr>(Up)->isCallToStdMove()))) {
    E = cast<Expr>(Up);
    Up = parent(E, &Variable);
  }
  if (Variable)
    return Graph.node(Variable) ? void() : Unknown();
  if (!Up) { // a member's initialiser, in a constructor or where it is declared
    auto Parents = Context.getParents(*E);
    return !Parents.empty() && (Parents[0].get<CXXConstructorDecl>() || Parents[0].get<FieldDecl>()) ? void() : Unknown();
  }
  if (isa<ReturnStmt>(Up))
    return Caller && Graph.result(Caller) ? void() : Unknown();
  if (const CXXOperatorCallExpr *Operator = dyn_cast<CXXOperatorCallExpr>(Up)) {
    const Expr *To = Operator->getNumArgs() == 2 ? Operator->getArg(0)->IgnoreParenImpCasts() : nullptr;
    const bool Assigns = Operator->getOperator() == OO_Equal && Operator->getArg(1) == E && isa<DeclRefExpr, MemberExpr>(To);
    return Assigns && Graph.node(To) ? void() : Unknown();
  }
  if (const CallExpr *Call = dyn_cast<CallExpr>(Up)) {
    const FunctionDecl *Callee = Call->getDirectCallee();
    const unsigned At = std::find(Call->arg_begin(), Call->arg_end(), E) - Call->arg_begin();
    if (!Callee || At >= Callee->getNumParams() || !Graph.node(Callee->getParamDecl(At)))
      return Unknown();
    if (!Callee->isDefined())
      Graph.require(P.Node, Graph.function(Callee), E->getExprLoc(), "the pointer's owner is passed to '" + Callee->getNameAsString() + "', whose body is not seen");
    return;
  }
  if (!resultIsUnused(E))
    Unknown();
}

} // namespace restride
