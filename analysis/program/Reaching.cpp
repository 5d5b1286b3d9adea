#include "analysis/program/Reaching.h"

#include "clang/AST/ParentMapContext.h"
#include "clang/AST/RecursiveASTVisitor.h"

using namespace clang;

namespace restride {

namespace {

/// Whether a statement may change a variable: anything but reading it.
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
  bool Changes = false;

private:
  const VarDecl *V;
  ASTContext &Context;
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

const Expr *reachingValue(const DeclRefExpr *Use, ASTContext &Context) {
  const VarDecl *V = dyn_cast<VarDecl>(Use->getDecl());
  if (!V || !V->hasLocalStorage() || V->getType()->isReferenceType())
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
      else if (isa<LabelStmt>(S) || Mentions(S, V, Context).Changes)
        Value = nullptr;
    }
    return Value;
  }
}

} // namespace restride
