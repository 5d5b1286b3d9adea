// Variables of a loop's body that statements before give other values: `int j = i + 1; if (j == n) j = 0;`.

#include "analysis/program/Around.h"
#include "analysis/program/FillFormula.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace clang;

namespace restride {

/// \p S gives \p V another value, or may.
static bool changes(const Stmt *S, const VarDecl *V, ASTContext &Context) {
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(S))
    return R->getDecl() == V && isWritten(R, Context);
  return llvm::any_of(S->children(), [&](const Stmt *Child) { return Child && changes(Child, V, Context); });
}

/// The block that declares \p V.
static const CompoundStmt *blockOf(const VarDecl *V, ASTContext &Context) {
  const DeclStmt *Declares = statementOf(V, Context);
  return Declares ? dyn_cast_or_null<CompoundStmt>(parentOf(Declares, Context)) : nullptr;
}

/// The statement of \p Block in which \p R stands.
static const Stmt *statementIn(const CompoundStmt *Block, const Stmt *R, ASTContext &Context) {
  const Stmt *Found = nullptr, *Child = R;
  goOutward(R, Context, [&](const DynTypedNode &Node) {
    const Stmt *Parent = Node.get<Stmt>();
    if (Parent == Block)
      Found = Child;
    Child = Parent ? Parent : Child;
    return !Found && !Node.get<FunctionDecl>() && !(Parent && isa<LambdaExpr>(Parent));
  });
  return Found;
}

bool FillFormula::assign(const Stmt *S, const VarDecl *V, unsigned Depth) {
  if (!S || !changes(S, V, Context))
    return true;
  if (const FullExpr *Full = dyn_cast<FullExpr>(S))
    return assign(Full->getSubExpr(), V, Depth);
  if (const CompoundStmt *Block = dyn_cast<CompoundStmt>(S))
    return llvm::all_of(Block->body(), [&](const Stmt *Each) { return assign(Each, V, Depth); });
  if (const IfStmt *If = dyn_cast<IfStmt>(S)) {
    if (changes(If->getCond(), V, Context) || If->getInit() || If->getConditionVariable())
      return false;
    const uint32_t Before = Parameters[V], Condition = add(If->getCond(), Depth + 1);
    if (!assign(If->getThen(), V, Depth + 1))
      return false;
    const uint32_t Then = std::exchange(Parameters[V], Before);
    if (!assign(If->getElse(), V, Depth + 1))
      return false;
    Parameters[V] = typed(V->getType(), FillNode::Op::Select, Condition, Then, Parameters[V]);
    return true;
  }
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(S); U && U->isIncrementDecrementOp()) {
    Parameters[V] = operation(U->isIncrementOp() ? BO_Add : BO_Sub, V->getType(), Parameters[V], constant(1));
    return true;
  }
  const BinaryOperator *B = dyn_cast<BinaryOperator>(S);
  const DeclRefExpr *To = B && B->isAssignmentOp() ? dyn_cast<DeclRefExpr>(B->getLHS()->IgnoreParens()) : nullptr;
  if (!To || To->getDecl() != V || changes(B->getRHS(), V, Context))
    return false;
  give(V, B, Depth + 1);
  return true;
}

std::optional<uint32_t> FillFormula::assigned(const DeclRefExpr *R, const VarDecl *V, unsigned Depth) {
  const CompoundStmt *Block = V->isLocalVarDecl() && !V->isStaticLocal() && V->getType()->isIntegralOrEnumerationType() ? blockOf(V, Context) : nullptr;
  const Stmt *Here = Block ? statementIn(Block, R, Context) : nullptr;
  if (!Here || !standsInside(Block->getBeginLoc()) || changes(Here, V, Context)) // begins anew in each trip
    return std::nullopt;
  if (auto At = Assigned.find({V, Here}); At != Assigned.end())
    return At->second;
  llvm::SaveAndRestore Outer(Followed);
  llvm::SaveAndRestore There(Varies, Varies & loopsAroundOf(V));
  for (const DeclRefExpr *Write : Facts.Modified.at(V->getLocation().getRawEncoding()))
    Followed.insert(Write);
  Parameters[V] = V->getInit() ? add(V->getInit(), Depth + 1) : typed(V->getType(), FillNode::Op::Unknown);
  const bool Known = llvm::all_of(Block->body(), [&, Behind = false](const Stmt *S) mutable {
    Behind |= S == Here;
    return Behind || assign(S, V, Depth + 1);
  });
  const uint32_t Value = Parameters[V];
  Parameters.erase(V);
  return Known ? Assigned[{V, Here}] = Value : std::optional<uint32_t>();
}

} // namespace restride
