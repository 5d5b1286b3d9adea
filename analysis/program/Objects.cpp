#include "analysis/program/Objects.h"
#include "analysis/program/Reaching.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMapContext.h"

using namespace clang;

namespace restride {

static const CXXConstructExpr *asCopy(const Stmt *S) {
  const CXXConstructExpr *C = dyn_cast_or_null<CXXConstructExpr>(S);
  return C && C->getNumArgs() == 1 && C->getConstructor()->isCopyOrMoveConstructor() ? C : nullptr;
}

/// The value is that of the expression inside.
static bool isWrapper(const Stmt *S) {
  const ImplicitCastExpr *C = dyn_cast<ImplicitCastExpr>(S);
  return isa<ParenExpr, MaterializeTemporaryExpr, ExprWithCleanups>(S) || asCopy(S) ||
         (C && (C->getCastKind() == CK_NoOp || C->getCastKind() == CK_LValueToRValue));
}

/// `a = b` of whole objects.
static const CXXOperatorCallExpr *asAssignment(const Stmt *S) {
  const CXXOperatorCallExpr *O = dyn_cast_or_null<CXXOperatorCallExpr>(S);
  const CXXMethodDecl *F = O ? dyn_cast_or_null<CXXMethodDecl>(O->getDirectCallee()) : nullptr;
  return F && F->isTrivial() && (F->isCopyAssignmentOperator() || F->isMoveAssignmentOperator()) ? O : nullptr;
}

/// The function whose `return` this is; null inside of a lambda.
static const FunctionDecl *returnsFrom(const ReturnStmt *R, ASTContext &Context) {
  DynTypedNode Node = DynTypedNode::create(*R);
  for (;;) {
    auto Parents = Context.getParents(Node);
    if (Parents.size() != 1 || Parents[0].get<LambdaExpr>())
      return nullptr;
    Node = Parents[0];
    if (const FunctionDecl *F = Node.get<FunctionDecl>())
      return F;
  }
}

ObjectClassifier::Destination ObjectClassifier::destination(const Expr *E) {
  bool Value = E->isPRValue();
  const Stmt *Child = E;
  for (;;) {
    auto Parents = Context.getParents(*Child);
    if (Parents.empty())
      return {};
    if (const VarDecl *V = Parents[0].get<VarDecl>()) {
      if (!Value || V->isInitCapture())
        return {};
      auto Above = Context.getParents(*V);
      return {Destination::Object, V, Above.empty() ? nullptr : Above[0].get<DeclStmt>()};
    }
    const Stmt *P = Parents[0].get<Stmt>();
    if (!P)
      return {};
    if (isWrapper(P)) {
      Value |= asCopy(P) != nullptr;
      Child = P;
      continue;
    }
    if (const ExplicitCastExpr *C = dyn_cast<ExplicitCastExpr>(P); C && C->getCastKind() == CK_ToVoid)
      return {Destination::Dropped};
    if (const MemberExpr *M = dyn_cast<MemberExpr>(P)) {
      if (!M->isArrow() && isa<FieldDecl>(M->getMemberDecl()))
        return {Destination::Dropped};
      return {};
    }
    if (const ReturnStmt *R = dyn_cast<ReturnStmt>(P)) {
      const FunctionDecl *F = Value ? returnsFrom(R, Context) : nullptr;
      return F ? Destination{Destination::Object, F} : Destination();
    }
    if (const CXXOperatorCallExpr *O = asAssignment(P)) {
      const DeclRefExpr *To = dyn_cast<DeclRefExpr>(O->getArg(0)->IgnoreParens());
      if (O->getArg(0) == Child)
        return To ? Destination{Destination::Dropped} : Destination();
      return To ? Destination{Destination::Object, dyn_cast<VarDecl>(To->getDecl()), O} : Destination();
    }
    if (const CallExpr *Call = dyn_cast<CallExpr>(P)) {
      const FunctionDecl *F = Value && !isa<CXXOperatorCallExpr>(Call) ? Call->getDirectCallee() : nullptr;
      const CXXMethodDecl *M = dyn_cast_or_null<CXXMethodDecl>(F);
      if (!F || F->getTemplateInstantiationPattern() || (M && M->isVirtual()) || !View.isUserCode(F->getLocation()))
        return {};
      for (unsigned I = 0; I < std::min(Call->getNumArgs(), F->getNumParams()); ++I)
        if (Call->getArg(I) == Child)
          return {Destination::Object, F->getParamDecl(I)};
      return {};
    }
    if (isa<CompoundStmt, IfStmt, ForStmt, WhileStmt, DoStmt, SwitchCase, LabelStmt>(P))
      return {Destination::Dropped};
    return {};
  }
}

void ObjectClassifier::copy(const Destination &D, llvm::ArrayRef<NodeId> From, const CXXRecordDecl *Type) {
  std::vector<NodeId> To = D.To ? Graph.members(D.To) : std::vector<NodeId>();
  if (To.size() != From.size())
    return Graph.merge(Type);
  const VarDecl *V = dyn_cast<VarDecl>(D.To);
  unsigned I = 0;
  for (const FieldDecl *F : Type->fields())
    if (Graph.node(F)) {
      if (!D.Copy || !V || !overwrittenBeforeUse(D.Copy, V, F, Context, View))
        Graph.unite(To[I], From[I]);
      ++I;
    }
}

void ObjectClassifier::expression(const Expr *E, const FunctionDecl *Function) {
  if (const UnaryExprOrTypeTraitExpr *S = dyn_cast<UnaryExprOrTypeTraitExpr>(E))
    if (const CXXRecordDecl *Type = Graph.holder(S->getTypeOfArgument()->getBaseElementTypeUnsafe()->getAsCXXRecordDecl()))
      return Graph.merge(Type);
  if (const OffsetOfExpr *O = dyn_cast<OffsetOfExpr>(E))
    if (const CXXRecordDecl *Type = Graph.holder(O->getTypeSourceInfo()->getType()->getAsCXXRecordDecl()))
      return Graph.merge(Type);
  const CXXRecordDecl *Type = E->getType().isNull() ? nullptr : Graph.holder(E->getType()->getAsCXXRecordDecl());
  const InitListExpr *List = dyn_cast<InitListExpr>(E);
  if (!Type || isWrapper(E) || (List && List->getSemanticForm())) // that is visited too
    return;
  if (const CXXConstructExpr *C = dyn_cast<CXXConstructExpr>(E); C && C->getNumArgs() == 0)
    return;
  if (!Function || Function->isDependentContext() || Function->getTemplateInstantiationPattern())
    return Graph.merge(Type);
  Destination To = destination(E);
  if (To.K == Destination::Unclear)
    return Graph.merge(Type);
  if (List || (asAssignment(E) && To.K == Destination::Dropped))
    return;
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E);
  const CallExpr *Call = isa<CXXOperatorCallExpr>(E) ? nullptr : dyn_cast<CallExpr>(E);
  const FunctionDecl *F = Call && E->isPRValue() ? Call->getDirectCallee() : nullptr;
  const CXXMethodDecl *M = dyn_cast_or_null<CXXMethodDecl>(F);
  if ((R && R->refersToEnclosingVariableOrCapture()) || (F && F->getTemplateInstantiationPattern()) || (M && M->isVirtual()))
    return Graph.merge(Type);
  const ValueDecl *Object = R ? R->getDecl() : F;
  std::vector<NodeId> From = Object ? Graph.members(Object) : std::vector<NodeId>();
  if (From.empty())
    return Graph.merge(Type);
  if (To.K == Destination::Object)
    copy(To, From, Type);
}

std::vector<NodeId> ObjectClassifier::initialised(const InitListExpr *L, const CXXRecordDecl *Type) {
  if (L->getNumInits() && !isa<ImplicitValueInitExpr>(L->getInit(0)))
    Graph.holderOf(Type).Positional = true;
  Destination To = destination(L);
  std::vector<NodeId> Out;
  if (To.K == Destination::Object && To.To)
    Out = Graph.members(To.To);
  if (!Out.empty())
    return Out;
  if (To.K != Destination::Dropped)
    Graph.merge(Type);
  for (const FieldDecl *F : Type->fields())
    if (std::optional<NodeId> Node = Graph.node(F))
      Out.push_back(*Node);
  return Out;
}

} // namespace restride
