#include "analysis/program/Around.h"

#include "clang/AST/Attr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/AST/StmtCXX.h"

using namespace clang;

namespace restride {

void goOutward(const Stmt *S, ASTContext &Context, llvm::function_ref<bool(const DynTypedNode &)> Each) {
  DynTypedNode Node = DynTypedNode::create(*S);
  do {
    auto Parents = Context.getParents(Node);
    if (Parents.empty())
      return;
    Node = Parents[0];
  } while (Each(Node));
}

llvm::SmallVector<const Stmt *, 4> loopsAround(const Stmt *S, ASTContext &Context) {
  llvm::SmallVector<const Stmt *, 4> Loops;
  const Stmt *Child = S;
  goOutward(S, Context, [&](const DynTypedNode &Node) {
    const Stmt *Parent = Node.get<Stmt>();
    if (!Parent)
      return !Node.get<FunctionDecl>();
    if (isa<LambdaExpr>(Parent))
      return false;
    const ForStmt *For = dyn_cast<ForStmt>(Parent);
    const CXXForRangeStmt *Range = dyn_cast<CXXForRangeStmt>(Parent);
    const WhileStmt *While = dyn_cast<WhileStmt>(Parent);
    const DoStmt *Do = dyn_cast<DoStmt>(Parent);
    if (For ? For->getInit() != Child : (Range && Range->getBody() == Child) || (While && While->getBody() == Child) || (Do && Do->getBody() == Child && !Do->getCond()->isIntegerConstantExpr(Context)))
      Loops.push_back(Parent);
    Child = Parent;
    return true;
  });
  return Loops;
}

const FunctionDecl *functionAround(const Stmt *S, ASTContext &Context) {
  const FunctionDecl *Out = nullptr;
  goOutward(S, Context, [&](const DynTypedNode &Node) {
    const LambdaExpr *L = Node.get<LambdaExpr>();
    Out = L ? L->getCallOperator() : Node.get<FunctionDecl>();
    return !Out;
  });
  return Out;
}

bool isConditional(const Stmt *S, ASTContext &Context) {
  bool Out = false;
  const Stmt *Child = S;
  goOutward(S, Context, [&](const DynTypedNode &Node) {
    const Stmt *Up = Node.get<Stmt>();
    const IfStmt *If = dyn_cast_or_null<IfStmt>(Up);
    Out |= isa_and_nonnull<SwitchStmt>(Up) || (If && (If->getThen() == Child || If->getElse() == Child));
    Child = Up ? Up : Child;
    return !Out && !Node.get<FunctionDecl>();
  });
  return Out;
}

static bool isZero(const Expr *E, const ASTContext &Context) {
  Expr::EvalResult R;
  return !E->isValueDependent() && E->EvaluateAsInt(R, Context) && R.Val.getInt() == 0;
}

Surroundings surroundings(const Expr *E, ASTContext &Context) {
  Surroundings Out;
  const Stmt *S = E;
  for (;;) {
    auto Parents = Context.getParents(*S);
    const Stmt *Above = Parents.empty() ? nullptr : Parents[0].get<Stmt>();
    if (!Above) { // the variable that it initialises
      const VarDecl *V = Parents.empty() ? nullptr : Parents[0].get<VarDecl>();
      auto Around = V ? Context.getParents(*V) : DynTypedNodeList(ArrayRef<DynTypedNode>());
      Above = Around.empty() ? nullptr : Around[0].get<Stmt>();
      if (!Above)
        return {};
    }
    // A macro's own braces are part of the statement.
    if (const CompoundStmt *Block = dyn_cast<CompoundStmt>(Above); Block && !Block->getLBracLoc().isMacroID()) {
      Out.Statement = S;
      Out.Block = Block;
      return Out;
    }
    if (isa<LambdaExpr, ForStmt, WhileStmt, SwitchStmt, CXXForRangeStmt, LabelStmt, SwitchCase>(Above))
      return {};
    if (const DoStmt *D = dyn_cast<DoStmt>(Above); D && !isZero(D->getCond(), Context))
      return {};
    if (const IfStmt *I = dyn_cast<IfStmt>(Above); I && (S == I->getThen() || S == I->getElse()))
      return {};
    if (const BinaryOperator *B = dyn_cast<BinaryOperator>(Above); B && B->isLogicalOp() && B->getRHS() == S)
      Out.Certain = false;
    if (const ConditionalOperator *C = dyn_cast<ConditionalOperator>(Above); C && C->getCond() != S)
      Out.Certain = false;
    S = Above;
  }
}

const DeclStmt *statementOf(const DeclaratorDecl *D, ASTContext &Context) {
  auto Parents = Context.getParents(*D);
  return Parents.empty() ? nullptr : Parents[0].get<DeclStmt>();
}

const Stmt *parentOf(const Stmt *S, ASTContext &Context) {
  auto Parents = S ? Context.getParents(*S) : DynTypedNodeList(llvm::ArrayRef<DynTypedNode>());
  // `{a, b}` stands in the tree as it is written and as it is meant, which says that a is read.
  for (const DynTypedNode &Parent : Parents)
    if (!Parent.get<InitListExpr>())
      return Parent.get<Stmt>();
  return Parents.empty() ? nullptr : Parents[0].get<Stmt>();
}

bool runsOnDevice(const FunctionDecl *F) { return F->hasAttr<CUDAGlobalAttr>() || F->hasAttr<CUDADeviceAttr>(); }

bool runsOnHost(const FunctionDecl *F) { return !runsOnDevice(F) || F->hasAttr<CUDAHostAttr>(); }

} // namespace restride
