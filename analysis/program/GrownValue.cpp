// "while (capacity < 2 * n) capacity *= 2;": what a variable holds after a loop
// that does nothing but change it.
#include "analysis/program/Evaluate.h"

#include "clang/AST/ParentMapContext.h"

using namespace clang;

namespace restride {

namespace {
struct Growth {
  const Expr *Condition, *Update;
  bool UpdatesFirst; ///< do … while
};
} // namespace

/// The loop that has nothing in it but what changes \p Changed.
static std::optional<Growth> growthOf(const Expr *Changed, ASTContext &Context) {
  const Stmt *Child = Changed;
  const Expr *Update = nullptr;
  for (;;) {
    auto Parents = Context.getParents(*Child);
    const Stmt *P = Parents.empty() ? nullptr : Parents[0].get<Stmt>();
    if (!P)
      return std::nullopt;
    if (const BinaryOperator *B = dyn_cast<BinaryOperator>(P); B && B->isAssignmentOp() && B->getLHS() == Child)
      Update = B;
    else if (const UnaryOperator *U = dyn_cast<UnaryOperator>(P); U && U->isIncrementDecrementOp())
      Update = U;
    else if (const CompoundStmt *C = dyn_cast<CompoundStmt>(P); C ? C->size() != 1 : !isa<ParenExpr, ExprWithCleanups>(P)) {
      const WhileStmt *While = dyn_cast<WhileStmt>(P);
      const DoStmt *Do = dyn_cast<DoStmt>(P);
      const ForStmt *For = dyn_cast<ForStmt>(P);
      if (!Update)
        return std::nullopt;
      if (While && While->getBody() == Child && !While->getConditionVariable())
        return Growth{While->getCond(), Update, false};
      if (Do && Do->getBody() == Child)
        return Growth{Do->getCond(), Update, true};
      if (For && For->getInc() == Child && isa<NullStmt>(For->getBody()) && For->getCond() && !For->getConditionVariable())
        return Growth{For->getCond(), Update, false};
      return std::nullopt;
    }
    Child = P;
  }
}

std::optional<Estimate> Evaluator::updated(const Expr *Update, Estimate Old, Frame In) const {
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(Update))
    return Estimate{Old.Value + (U->isIncrementOp() ? 1 : -1), Old.Assumed};
  const BinaryOperator *B = cast<BinaryOperator>(Update);
  std::optional<Estimate> By = integer(B->getRHS(), In.deeper());
  if (!By || !B->isCompoundAssignmentOp())
    return By;
  return applied(BinaryOperator::getOpForCompoundAssignment(B->getOpcode()), Old, *By);
}

std::optional<Estimate> Evaluator::grown(const ValueDecl *V, llvm::ArrayRef<const Expr *> Changes, Estimate Start, Frame In) const {
  std::optional<Growth> Loop;
  for (const Expr *Changed : Changes)
    if (std::optional<Growth> Found = growthOf(Changed, Context)) {
      if (Loop)
        return Start;
      Loop = Found;
    }
  if (!Loop)
    return Start;
  std::optional<Estimate> Now = Start;
  for (bool First = true; Now && StepsLeft; First = false) {
    --StepsLeft;
    Trial[V] = *Now;
    std::optional<Estimate> Goes = First && Loop->UpdatesFirst ? Estimate{1} : integer(Loop->Condition, In.deeper());
    if (!Goes || !StepsLeft) // what the condition needs may have taken the last ones
      break;
    if (!Goes->Value) {
      Trial.erase(V);
      Now->Assumed |= Goes->Assumed;
      return Now;
    }
    Now = updated(Loop->Update, *Now, In);
  }
  Trial.erase(V);
  return Start;
}

} // namespace restride
