// Functions of the host that a formula follows.

#include "analysis/program/ContainerSize.h"
#include "analysis/program/FillFormula.h"
#include "analysis/program/Returned.h"

#include "clang/AST/ExprCXX.h"

#include <set>

using namespace clang;

namespace restride {

/// The variable of its own that the statement \p S of \p F assigns to: `k ^= k >> 16;`.
static const DeclRefExpr *assignedBy(const Stmt *S, const FunctionDecl *F) {
  const BinaryOperator *B = dyn_cast<BinaryOperator>(S);
  const DeclRefExpr *R = B && B->isAssignmentOp() ? dyn_cast<DeclRefExpr>(B->getLHS()->IgnoreParens()) : nullptr;
  const VarDecl *V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
  return V && V->isLocalVarDeclOrParm() && !V->isStaticLocal() && V->getDeclContext() == F && V->getType()->isIntegralOrEnumerationType() ? R : nullptr;
}

/// The variable or member that is changed with \p E, or a part of it.
static const ValueDecl *changedWith(const Expr *E) {
  const ArraySubscriptExpr *S = dyn_cast<ArraySubscriptExpr>(E->IgnoreParenImpCasts());
  return S ? changedWith(S->getBase()) : namedBy(E);
}

static void collectChanged(const Stmt *S, std::set<const ValueDecl *> &Out) {
  if (const Expr *Changed = changedAround(S))
    Out.insert(changedWith(Changed));
  for (const Stmt *Child : S->children())
    if (Child)
      collectChanged(Child, Out);
}

/// Nothing stands in \p F but variables, what they are given one after the other, what a generator's state becomes, and
/// what it returns.
static bool isStraight(const FunctionDecl *F) {
  const CompoundStmt *Body = dyn_cast<CompoundStmt>(F->getBody());
  return Body && !Body->body_empty() && isa<ReturnStmt>(Body->body_back()) && llvm::all_of(Body->body(), [&](const Stmt *S) {
           return isa<DeclStmt>(S) || (isa<ReturnStmt>(S) && cast<ReturnStmt>(S)->getRetValue()) || assignedBy(S, F) || changedAround(S);
         });
}

void FillFormula::give(const VarDecl *V, const BinaryOperator *B, unsigned Depth) {
  const uint32_t Value = add(B->getRHS(), Depth);
  if (B->getOpcode() == BO_Assign) {
    Parameters[V] = Value;
    return;
  }
  const auto Old = Parameters.find(V);
  const uint32_t Before = Old != Parameters.end() ? Old->second : typed(V->getType(), FillNode::Op::Unknown);
  Parameters[V] = operation(BinaryOperator::getOpForCompoundAssignment(B->getOpcode()), V->getType(), Before, Value);
}

uint32_t FillFormula::follow(const FunctionDecl *F, unsigned Depth) {
  const CompoundStmt *Body = cast<CompoundStmt>(F->getBody());
  std::set<const DeclRefExpr *> Outer = Followed;
  for (const Stmt *S : Body->body())
    if (const DeclRefExpr *R = assignedBy(S, F))
      Followed.insert(R);
  std::optional<uint32_t> Out;
  for (const Stmt *S : Body->body()) {
    if (const ReturnStmt *Return = dyn_cast<ReturnStmt>(S)) {
      Out = add(Return->getRetValue(), Depth);
      break;
    }
    if (const DeclStmt *Declares = dyn_cast<DeclStmt>(S)) {
      for (const Decl *D : Declares->decls()) // those of references and the like are looked at where they are used
        if (const VarDecl *V = dyn_cast<VarDecl>(D); V && V->getInit() && !V->isStaticLocal() && V->getType()->isIntegralOrEnumerationType())
          Parameters[V] = add(V->getInit(), Depth);
      continue;
    }
    if (const DeclRefExpr *Assigned = assignedBy(S, F)) // else what is around the function, and not known from here on
      give(cast<VarDecl>(Assigned->getDecl()), cast<BinaryOperator>(S), Depth);
  }
  Followed = std::move(Outer);
  return *Out;
}

/// The object that \p C is a method of, or a pointer to it; null: of none.
static const Expr *objectOf(const CallExpr *C) {
  const CXXMemberCallExpr *Member = dyn_cast<CXXMemberCallExpr>(C);
  const Expr *Object = Member ? Member->getImplicitObjectArgument() : isa<CXXOperatorCallExpr>(C) ? C->getArg(0) : nullptr;
  return Object ? Object->IgnoreParenImpCasts() : nullptr;
}

uint32_t FillFormula::drawn(const CallExpr *C, const DrawnBetween &Between, unsigned Depth) {
  const uint32_t Low = Between.Low ? add(Between.Low, Depth + 1) : constant(0), High = add(Between.High, Depth + 1);
  const uint32_t Count = binary(FillNode::Op::Add, binary(FillNode::Op::Sub, High, Low), constant(1));
  const uint32_t Any = push({FillNode::Op::Unknown, 64, true});
  return typed(C->getType(), FillNode::Op::Add, Low, binary(FillNode::Op::Rem, Any, Count));
}

std::map<const VarDecl *, uint32_t> FillFormula::given(const FunctionDecl *F, llvm::ArrayRef<const Expr *> Arguments, unsigned Depth) {
  std::map<const VarDecl *, uint32_t> Out;
  for (unsigned I = 0; I < F->getNumParams() && I < Arguments.size(); ++I)
    if (const ParmVarDecl *P = F->getParamDecl(I); P->getType().getNonReferenceType()->isIntegralOrEnumerationType())
      Out[P] = add(Arguments[I], Depth + 1);
    else if (varies(Arguments[I], Depth))
      Reals.insert(P);
  return Out;
}

void FillFormula::enter(const CallExpr *C, unsigned Depth) {
  const FunctionDecl *F = C->getDirectCallee(), *Definition = nullptr;
  if (!F || !F->hasBody(Definition))
    return;
  const CXXMethodDecl *Method = dyn_cast<CXXMethodDecl>(F);
  const bool IsLambda = Method && Method->getParent()->isLambda();
  std::map<const VarDecl *, uint32_t> Inner = given(Definition, argumentsOf(C), Depth);
  if (IsLambda) // sees what is around it
    Inner.insert(Parameters.begin(), Parameters.end());
  Parameters = std::move(Inner);
  Varying.clear(); // a function's variables follow from its parameters
  collectChanged(Definition->getBody(), Changed);
  if (const Expr *Object = Method && !IsLambda ? objectOf(C) : nullptr)
    This = Object;
}

uint32_t FillFormula::call(const CallExpr *C, unsigned Depth) {
  const FunctionDecl *F = C->getDirectCallee(), *Definition = nullptr;
  if (!F)
    return unknown(C);
  if (const std::optional<DrawnBetween> Between = drawnBetween(C); Between && C->getType()->isIntegralOrEnumerationType())
    return drawn(C, *Between, Depth);
  if (const Expr *Share = drawnShare(C))
    if (const std::optional<double> Known = fixedReal(Share, Depth))
      return oneIn(*Known);
  llvm::StringRef Name = F->getDeclName().isIdentifier() ? F->getName() : "";
  if ((Name == "min" || Name == "max") && C->getNumArgs() == 2) {
    const uint32_t A = add(C->getArg(0), Depth), B = add(C->getArg(1), Depth), Less = binary(FillNode::Op::Less, A, B);
    return Name == "min" ? typed(C->getType(), FillNode::Op::Select, Less, A, B) : typed(C->getType(), FillNode::Op::Select, Less, B, A);
  }
  if ((Name == "abs" || Name == "labs") && C->getNumArgs() == 1) {
    const uint32_t A = add(C->getArg(0), Depth), Zero = constant(0);
    return typed(C->getType(), FillNode::Op::Select, binary(FillNode::Op::Less, A, Zero), binary(FillNode::Op::Sub, Zero, A), A);
  }
  const CXXMethodDecl *Method = dyn_cast<CXXMethodDecl>(F);
  const bool IsLambda = Method && Method->getParent()->isLambda();
  if (!F->hasBody(Definition) || !isStraight(Definition) || !Definition->getReturnType()->isIntegralOrEnumerationType())
    return unknown(C);
  const Expr *Object = Method && !IsLambda ? objectOf(C) : nullptr;
  if (Method && !IsLambda && !Method->isStatic() && (!Object || Method->isVirtual()))
    return unknown(C);
  const std::map<const VarDecl *, uint32_t> ParametersOutside = Parameters;
  const std::set<const ValueDecl *> ChangedOutside = Changed;
  const Expr *Outer = This;
  enter(C, Depth);
  if (Object && isa<CXXThisExpr>(Object)) // a method that calls another one is of the same object
    This = Outer;
  const uint32_t Out = follow(Definition, Depth + 1);
  This = Outer;
  Changed = ChangedOutside;
  Parameters = ParametersOutside;
  Varying.clear();
  return Out;
}

} // namespace restride
