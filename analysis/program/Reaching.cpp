#include "analysis/program/Reaching.h"

#include "clang/AST/ParentMapContext.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"

using namespace clang;

namespace restride {

namespace {

/// Whether a statement may change a variable, by anything but reading it, or be
/// entered from elsewhere.
class Mentions : public DynamicRecursiveASTVisitor {
public:
  Mentions(const Stmt *S, const VarDecl *V, ASTContext &Context) : V(V), Context(Context) { TraverseStmt(const_cast<Stmt *>(S)); }
  bool VisitDeclRefExpr(DeclRefExpr *E) override {
    if (E->getDecl() != V)
      return true;
    auto Parents = Context.getParents(*E);
    const ImplicitCastExpr *Cast = Parents.empty() ? nullptr : Parents[0].get<ImplicitCastExpr>();
    Changes |= !Cast || Cast->getCastKind() != CK_LValueToRValue;
    return true;
  }
  bool VisitLabelStmt(LabelStmt *) override { return !(Changes = true); }
  bool VisitSwitchCase(SwitchCase *) override {
    Changes |= !Switches;
    return true;
  }
  bool TraverseSwitchStmt(SwitchStmt *S) override {
    ++Switches;
    bool Go = DynamicRecursiveASTVisitor::TraverseSwitchStmt(S);
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
    if (Parents.empty() || Parents[0].get<LambdaExpr>() || Parents[0].get<FunctionDecl>())
      return nullptr;
    Node = Parents[0];
    const CompoundStmt *Block = dyn_cast_or_null<CompoundStmt>(Parent);
    if (!Block) {
      // A loop or a branch that does not change the variable makes no difference, but one can be jumped into.
      if (Parent && isa<SwitchStmt, LabelStmt, SwitchCase>(Parent))
        return nullptr;
      if (Parent)
        Here = Parent;
      continue;
    }
    const Expr *Value = nullptr;
    bool Unchanged = true;
    for (const Stmt *S : Block->body()) {
      if (S == Here) {
        if (Mentions(S, V, Context).Changes)
          return nullptr;
        break;
      }
      if (const Expr *Given = valueGiven(S, V))
        Value = Given, Unchanged = false;
      else if (Mentions(S, V, Context).Changes)
        Value = nullptr, Unchanged = false;
    }
    if (!Unchanged)
      return Value;
    Here = Block;
  }
}

namespace {

/// What one statement does with a member of a variable.
class MemberUses : public DynamicRecursiveASTVisitor {
public:
  MemberUses(const Stmt *S, const VarDecl *V, const FieldDecl *Member, ASTContext &Context) : V(V), Member(Member), Context(Context) {
    TraverseStmt(const_cast<Stmt *>(S));
  }
  bool VisitDeclRefExpr(DeclRefExpr *E) override {
    if (E->getDecl() != V)
      return true;
    auto Parents = Context.getParents(*E);
    const MemberExpr *M = Parents.empty() ? nullptr : Parents[0].get<MemberExpr>();
    if (!M || M->getMemberDecl() == Member)
      Uses.push_back(M);
    return true;
  }
  bool TraverseUnaryExprOrTypeTraitExpr(UnaryExprOrTypeTraitExpr *) override { return true; } // sizeof reads nothing
  bool VisitStmt(Stmt *S) override {
    Jumps |= isa<GotoStmt, IndirectGotoStmt, LabelStmt, BreakStmt, ContinueStmt, AsmStmt>(S);
    return true;
  }
  std::vector<const MemberExpr *> Uses; ///< null: of the variable as a whole
  bool Jumps = false;

private:
  const VarDecl *V;
  const FieldDecl *Member;
  ASTContext &Context;
};

} // namespace

/// Running \p Whole runs \p Part.
static bool runsAlways(const Stmt *Part, const Stmt *Whole, ASTContext &Context) {
  DynTypedNode Node = DynTypedNode::create(*Part);
  for (const Stmt *Child = Part; Child != Whole;) {
    auto Parents = Context.getParents(Node);
    if (Parents.size() != 1)
      return false;
    Node = Parents[0];
    if (const VarDecl *V = Node.get<VarDecl>(); V && !V->isStaticLocal())
      continue;
    const Stmt *P = Node.get<Stmt>();
    const BinaryOperator *B = dyn_cast_or_null<BinaryOperator>(P);
    const IfStmt *If = dyn_cast_or_null<IfStmt>(P);
    if (!P || (B && B->isLogicalOp() && B->getLHS() != Child) || (If && If->getCond() != Child && If->getInit() != Child) ||
        !isa<CallExpr, CastExpr, ParenExpr, ExprWithCleanups, BinaryOperator, UnaryOperator, DeclStmt, CompoundStmt, IfStmt, DoStmt>(P))
      return false;
    Child = P;
  }
  return true;
}

/// `object.member = value` or `cudaMalloc(&object.member, ...)`.
static bool overwrites(const MemberExpr *M, const Stmt *S, ASTContext &Context, const SourceView &View) {
  const Stmt *Child = M, *P = nullptr;
  auto Up = [&] {
    auto Parents = Context.getParents(*Child);
    P = Parents.empty() ? nullptr : Parents[0].get<Stmt>();
  };
  Up();
  if (const BinaryOperator *B = dyn_cast_or_null<BinaryOperator>(P))
    return B->getOpcode() == BO_Assign && B->getLHS() == M && runsAlways(B, S, Context);
  const UnaryOperator *Address = dyn_cast_or_null<UnaryOperator>(P);
  if (!Address || Address->getOpcode() != UO_AddrOf)
    return false;
  while (P && isa<UnaryOperator, CastExpr, ParenExpr>(P)) {
    if (P != Address && isa<UnaryOperator>(P))
      return false;
    Child = P;
    Up();
  }
  const CallExpr *Call = dyn_cast_or_null<CallExpr>(P);
  const FunctionDecl *F = Call ? Call->getDirectCallee() : nullptr;
  return F && F->getDeclName().isIdentifier() && F->getName().starts_with("cudaMalloc") && !View.isUserCode(F->getLocation()) &&
         Call->getArg(0) == Child && runsAlways(Call, S, Context);
}

bool overwrittenBeforeUse(const Stmt *Copy, const VarDecl *Object, const FieldDecl *Member, ASTContext &Context, const SourceView &View) {
  auto Parents = Context.getParents(*Copy);
  const CompoundStmt *Block = Parents.empty() ? nullptr : Parents[0].get<CompoundStmt>();
  if (!Block || !Object->hasLocalStorage())
    return false;
  // Where the block is left the object must be gone.
  bool Declared = false, After = false;
  for (const Stmt *S : Block->body()) {
    const DeclStmt *D = dyn_cast<DeclStmt>(S);
    Declared |= D && llvm::is_contained(D->decls(), Object);
    if (S == Copy) {
      After = true;
      if (!Declared || (D && !D->isSingleDecl()))
        return false;
      continue;
    }
    if (!After)
      continue;
    MemberUses Found(S, Object, Member, Context);
    if (Found.Jumps)
      return false;
    if (Found.Uses.size() == 1 && Found.Uses.front())
      return overwrites(Found.Uses.front(), S, Context, View);
    if (!Found.Uses.empty())
      return false;
  }
  return false;
}

} // namespace restride
