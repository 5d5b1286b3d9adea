#include "analysis/program/Reaching.h"

#include "clang/AST/ParentMapContext.h"
#include "clang/AST/RecursiveASTVisitor.h"

using namespace clang;

namespace restride {

namespace {

/// Whether a statement may change a variable, by anything but reading it, or be
/// entered from elsewhere.
class Mentions : public RecursiveASTVisitor<Mentions> {
public:
  Mentions(const Stmt *S, const VarDecl *V, ASTContext &Context) : V(V), Context(Context) { TraverseStmt(const_cast<Stmt *>(S)); }
  bool VisitDeclRefExpr(DeclRefExpr *E) {
    if (E->getDecl() != V)
      return true;
    auto Parents = Context.getParents(*E);
    const ImplicitCastExpr *Cast = Parents.empty() ? nullptr : Parents[0].get<ImplicitCastExpr>();
    Changes |= !Cast || Cast->getCastKind() != CK_LValueToRValue;
    return true;
  }
  bool VisitLabelStmt(LabelStmt *) { return !(Changes = true); }
  bool VisitSwitchCase(SwitchCase *) {
    Changes |= !Switches;
    return true;
  }
  bool TraverseSwitchStmt(SwitchStmt *S) {
    ++Switches;
    bool Go = RecursiveASTVisitor<Mentions>::TraverseSwitchStmt(S);
    --Switches;
    return Go;
  }
  bool Changes = false;

private:
  const VarDecl *V;
  ASTContext &Context;
  unsigned Switches = 0; ///< around what is visited
};

} // namespace

/// `V = value;` or `T V = value;`
static const Expr *valueGiven(const Stmt *S, const VarDecl *V) {
  if (const ExprWithCleanups *C = dyn_cast<ExprWithCleanups>(S))
    S = C->getSubExpr();
  if (const DeclStmt *D = dyn_cast<DeclStmt>(S))
    for (const Decl *One : D->decls())
      if (One == V)
        return V->getInit();
  const BinaryOperator *B = dyn_cast<BinaryOperator>(S);
  const DeclRefExpr *R = B && B->getOpcode() == BO_Assign ? dyn_cast<DeclRefExpr>(B->getLHS()->IgnoreParens()) : nullptr;
  return R && R->getDecl() == V ? B->getRHS() : nullptr;
}

/// Only its own name changes \p V: no pointer, reference or lambda does.
static bool changesByName(const VarDecl *V, const UnitFacts &Facts, ASTContext &Context) {
  auto Changes = Facts.Modified.find(V->getLocation().getRawEncoding());
  return Changes == Facts.Modified.end() || llvm::all_of(Changes->second, [&](const DeclRefExpr *R) {
    auto Parents = Context.getParents(*R);
    const BinaryOperator *B = Parents.empty() ? nullptr : Parents[0].get<BinaryOperator>();
    const UnaryOperator *U = Parents.empty() ? nullptr : Parents[0].get<UnaryOperator>();
    return !R->refersToEnclosingVariableOrCapture() &&
           ((B && B->isAssignmentOp() && B->getLHS() == R) || (U && U->isIncrementDecrementOp()));
  });
}

const Expr *reachingValue(const DeclRefExpr *Use, const UnitFacts &Facts, ASTContext &Context) {
  const VarDecl *V = dyn_cast<VarDecl>(Use->getDecl());
  if (!V || !V->hasLocalStorage() || V->getType()->isReferenceType() || !changesByName(V, Facts, Context))
    return nullptr;
  DynTypedNode Node = DynTypedNode::create(*Use);
  const Stmt *Here = Use;
  for (;;) {
    auto Parents = Context.getParents(Node);
    const Stmt *Parent = Parents.empty() ? nullptr : Parents[0].get<Stmt>();
    if (Parents.empty() || Parents[0].get<LambdaExpr>())
      return nullptr;
    Node = Parents[0];
    const CompoundStmt *Block = dyn_cast_or_null<CompoundStmt>(Parent);
    if (!Block) {
      // Out of a loop or a branch the way is not the only one.
      if (Parent && isa<ForStmt, WhileStmt, DoStmt, IfStmt, SwitchStmt, CXXForRangeStmt, LabelStmt, SwitchCase>(Parent))
        return nullptr;
      if (Parent)
        Here = Parent;
      continue;
    }
    const Expr *Value = nullptr;
    for (const Stmt *S : Block->body()) {
      if (S == Here) {
        if (Mentions(S, V, Context).Changes)
          return nullptr;
        break;
      }
      if (const Expr *Given = valueGiven(S, V))
        Value = Given;
      else if (Mentions(S, V, Context).Changes)
        Value = nullptr;
    }
    return Value;
  }
}

} // namespace restride
