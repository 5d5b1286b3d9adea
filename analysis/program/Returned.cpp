#include "analysis/program/Returned.h"

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

using namespace clang;

namespace restride {

llvm::ArrayRef<const Expr *> argumentsOf(const CallExpr *C) {
  const bool HasObject = isa<CXXOperatorCallExpr>(C) && isa_and_nonnull<CXXMethodDecl>(C->getDirectCallee());
  return llvm::ArrayRef<const Expr *>(C->getArgs(), C->getNumArgs()).drop_front(HasObject);
}

Called calledBy(const Expr *E) {
  if (const CXXConstructExpr *C = dyn_cast<CXXConstructExpr>(E))
    return {C->getConstructor(), {C->getArgs(), C->getNumArgs()}};
  return {cast<CallExpr>(E)->getDirectCallee(), argumentsOf(cast<CallExpr>(E))};
}

const Expr *lastReturned(const FunctionDecl *F) {
  const FunctionDecl *Definition = nullptr;
  const CompoundStmt *Body = F->hasBody(Definition) ? dyn_cast<CompoundStmt>(Definition->getBody()) : nullptr;
  const ReturnStmt *Return = Body && !Body->body_empty() ? dyn_cast<ReturnStmt>(Body->body_back()) : nullptr;
  return Return ? Return->getRetValue() : nullptr;
}

/// What \p E changes is no variable of a function's own.
static bool isOutside(const Expr *E) {
  E = E->IgnoreParenImpCasts();
  if (const MemberExpr *M = dyn_cast<MemberExpr>(E))
    return M->isArrow() || isOutside(M->getBase());
  if (const ArraySubscriptExpr *S = dyn_cast<ArraySubscriptExpr>(E))
    return isOutside(S->getBase());
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E);
  const VarDecl *V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
  return !V || !V->hasLocalStorage() || V->getType()->isReferenceType() || V->getType()->isPointerType() || R->refersToEnclosingVariableOrCapture();
}

static bool anyStatement(const FunctionDecl *F, llvm::function_ref<bool(const Stmt *)> Is, unsigned Calls) {
  constexpr unsigned MostCalls = 3, Short = 8;
  const FunctionDecl *Definition = nullptr;
  const CompoundStmt *Body = F && F->hasBody(Definition) ? dyn_cast<CompoundStmt>(Definition->getBody()) : nullptr;
  if (!Body || (Calls > 0 && Body->size() > Short))
    return false;
  auto any = [&](const Stmt *S, auto &Any) -> bool {
    const CallExpr *C = dyn_cast<CallExpr>(S);
    return Is(S) || (C && Calls < MostCalls && anyStatement(C->getDirectCallee(), Is, Calls + 1)) ||
           llvm::any_of(S->children(), [&](const Stmt *Child) { return Child && Any(Child, Any); });
  };
  return any(Body, any);
}

bool anyStatement(const FunctionDecl *F, llvm::function_ref<bool(const Stmt *)> Is) { return anyStatement(F, Is, 0); }

const Expr *changedAround(const Stmt *S) {
  const BinaryOperator *B = dyn_cast<BinaryOperator>(S);
  const UnaryOperator *U = dyn_cast<UnaryOperator>(S);
  const Expr *Changed = B && B->isAssignmentOp() ? B->getLHS() : U && U->isIncrementDecrementOp() ? U->getSubExpr() : nullptr;
  return Changed && isOutside(Changed) ? Changed : nullptr;
}

bool changesState(const FunctionDecl *F) {
  return anyStatement(F, [](const Stmt *S) { return changedAround(S) != nullptr; });
}

bool isGenerator(const FunctionDecl *F) {
  return changesState(F) && anyStatement(F, [](const Stmt *S) {
           const BinaryOperator *B = dyn_cast<BinaryOperator>(S);
           return B && llvm::is_contained({BO_Mul, BO_MulAssign, BO_Xor, BO_XorAssign}, B->getOpcode());
         });
}

bool mixesBits(const Stmt *S) {
  constexpr uint64_t Large = 1 << 16;
  if (const BinaryOperator *B = dyn_cast<BinaryOperator>(S)) {
    const bool Product = B->getOpcode() == BO_Mul || B->getOpcode() == BO_MulAssign;
    for (const Expr *Side : {B->getLHS(), B->getRHS()})
      if (const IntegerLiteral *L = dyn_cast<IntegerLiteral>(Side->IgnoreParenImpCasts()); L && Product && L->getValue().ugt(Large))
        return true;
  }
  return llvm::any_of(S->children(), [](const Stmt *Child) { return Child && mixesBits(Child); });
}

/// All statements of \p F are of one of these kinds.
template <typename... Kinds> static bool hasOnly(const FunctionDecl *F) {
  const FunctionDecl *Definition = nullptr;
  return F->hasBody(Definition) && llvm::all_of(Definition->getBody()->children(), [](const Stmt *S) { return isa<Kinds...>(S); });
}

bool onlyReturns(const FunctionDecl *F) { return hasOnly<DeclStmt, ReturnStmt>(F); }

bool isFormula(const FunctionDecl *F) { return hasOnly<DeclStmt, ReturnStmt, IfStmt, WhileStmt, ForStmt>(F); }

const CXXConstructorDecl *madeBy(const FunctionDecl *F, unsigned Arguments) {
  const TemplateArgumentList *Given = F->isInStdNamespace() && F->getDeclName().isIdentifier() ? F->getTemplateSpecializationArgs() : nullptr;
  if (!Given || !Given->size() || Given->get(0).getKind() != TemplateArgument::Type || (F->getName() != "make_unique" && F->getName() != "make_shared"))
    return nullptr;
  const CXXRecordDecl *Class = Given->get(0).getAsType()->getAsCXXRecordDecl();
  const FunctionDecl *Only = nullptr, *Definition = nullptr;
  for (const CXXConstructorDecl *C : Class && Class->hasDefinition() ? Class->ctors() : CXXRecordDecl::ctor_range({}, {}))
    if (!C->isCopyOrMoveConstructor() && C->getMinRequiredArguments() <= Arguments && Arguments <= C->getNumParams()) {
      if (Only)
        return nullptr;
      Only = C;
    }
  return Only && Only->hasBody(Definition) ? cast<CXXConstructorDecl>(Definition) : nullptr;
}

} // namespace restride
