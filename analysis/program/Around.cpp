#include "analysis/program/Around.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/AST/StmtCXX.h"

using namespace clang;

namespace restride {

llvm::SmallVector<const Stmt *, 4> loopsAround(const Stmt *S, ASTContext &Context) {
  llvm::SmallVector<const Stmt *, 4> Loops;
  DynTypedNode Node = DynTypedNode::create(*S);
  const Stmt *Child = S;
  for (unsigned Depth = 0; Depth < 1000; ++Depth) {
    auto Parents = Context.getParents(Node);
    if (Parents.empty() || Parents[0].get<FunctionDecl>())
      break;
    Node = Parents[0];
    const Stmt *Parent = Node.get<Stmt>();
    if (!Parent)
      continue;
    const ForStmt *For = dyn_cast<ForStmt>(Parent);
    const CXXForRangeStmt *Range = dyn_cast<CXXForRangeStmt>(Parent);
    const WhileStmt *While = dyn_cast<WhileStmt>(Parent);
    const DoStmt *Do = dyn_cast<DoStmt>(Parent);
    if (For ? For->getInit() != Child : (Range && Range->getBody() == Child) || (While && While->getBody() == Child) || (Do && Do->getBody() == Child && !Do->getCond()->isIntegerConstantExpr(Context)))
      Loops.push_back(Parent);
    Child = Parent;
  }
  return Loops;
}

const FunctionDecl *functionAround(const Stmt *S, ASTContext &Context) {
  DynTypedNode Node = DynTypedNode::create(*S);
  for (;;) {
    auto Parents = Context.getParents(Node);
    if (Parents.empty())
      return nullptr;
    Node = Parents[0];
    if (const FunctionDecl *F = Node.get<FunctionDecl>())
      return F;
    if (const LambdaExpr *L = Node.get<LambdaExpr>())
      return L->getCallOperator();
  }
}

} // namespace restride
