#include "analysis/program/Purity.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace clang;

namespace restride {

static constexpr unsigned MaxCallDepth = 8;

static llvm::StringRef nameOf(const FunctionDecl *F) {
  return F->getDeclName().isIdentifier() ? F->getName() : llvm::StringRef();
}

bool touchesOneObject(const FunctionDecl *F) {
  llvm::StringRef Name = nameOf(F);
  if (!F->getASTContext().getSourceManager().isInSystemHeader(F->getLocation()) && !F->getBuiltinID())
    return false;
  return Name.starts_with("atomic") || Name.starts_with("__iAtomic") || Name.starts_with("__ld") ||
         Name.starts_with("__st");
}

/// A library function of numbers: no pointers in, a number out.
static bool isArithmeticFunction(const FunctionDecl *F) {
  llvm::StringRef Name = nameOf(F);
  const SourceManager &Sources = F->getASTContext().getSourceManager();
  if (Name.empty() || (!F->getBuiltinID() && !Sources.isInSystemHeader(F->getLocation())))
    return false;
  for (llvm::StringRef Impure : {"__shfl", "__ballot", "__any", "__all", "__match", "__reduce", "__sync", "__cluster", "clock", "rand"})
    if (Name.starts_with(Impure))
      return false;
  if (F->param_empty() || !F->getReturnType().getNonReferenceType()->isArithmeticType())
    return false;
  return llvm::all_of(F->parameters(), [](const ParmVarDecl *P) {
    QualType T = P->getType();
    if (T->isReferenceType())
      return T.getNonReferenceType().isConstQualified() && T.getNonReferenceType()->isArithmeticType();
    return T->isArithmeticType();
  });
}

/// The variable that an assignment to \p E changes, if it is a whole local
/// variable (or a member or element of one) and not something behind a pointer.
static const VarDecl *assignedLocal(const Expr *E) {
  E = E->IgnoreParenImpCasts();
  if (const MemberExpr *M = dyn_cast<MemberExpr>(E); M && !M->isArrow())
    return assignedLocal(M->getBase());
  if (const ArraySubscriptExpr *A = dyn_cast<ArraySubscriptExpr>(E))
    return A->getBase()->IgnoreParenImpCasts()->getType()->isArrayType() ? assignedLocal(A->getBase()) : nullptr;
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E);
  const VarDecl *V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
  return V && V->hasLocalStorage() && !V->getType()->isReferenceType() ? V : nullptr;
}

static bool pure(const Stmt *S, const FunctionDecl *Within, unsigned Depth);

static bool pureFunction(const FunctionDecl *F, unsigned Depth) {
  if (isArithmeticFunction(F))
    return true;
  const FunctionDecl *Definition = nullptr;
  if (Depth >= MaxCallDepth || !F->hasBody(Definition))
    return false;
  return pure(Definition->getBody(), Definition, Depth + 1);
}

/// threadIdx.x and its kind are calls behind a property.
static bool isThreadProperty(const PseudoObjectExpr *E) {
  const Expr *Syntactic = E->getSyntacticForm()->IgnoreParenImpCasts();
  const MSPropertyRefExpr *Property = dyn_cast<MSPropertyRefExpr>(Syntactic);
  return Property && Property->getPropertyDecl()->getName().size() == 1;
}

static bool pure(const Stmt *S, const FunctionDecl *Within, unsigned Depth) {
  if (!S)
    return true;
  if (const PseudoObjectExpr *P = dyn_cast<PseudoObjectExpr>(S))
    return isThreadProperty(P);
  if (const Expr *E = dyn_cast<Expr>(S); E && E->isGLValue() && E->getType().isVolatileQualified())
    return false;
  auto ChangesOnlyLocals = [&](const Expr *Target) { return Within && assignedLocal(Target); };
  if (const BinaryOperator *B = dyn_cast<BinaryOperator>(S); B && B->isAssignmentOp() && !ChangesOnlyLocals(B->getLHS()))
    return false;
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(S);
      U && U->isIncrementDecrementOp() && !ChangesOnlyLocals(U->getSubExpr()))
    return false;
  if (const CallExpr *C = dyn_cast<CallExpr>(S)) {
    const FunctionDecl *Callee = C->getDirectCallee();
    const CXXOperatorCallExpr *Operator = dyn_cast<CXXOperatorCallExpr>(C);
    if (Operator && Operator->isAssignmentOp() && !ChangesOnlyLocals(Operator->getArg(0)))
      return false;
    if (!Callee || (!(Operator && Callee->isImplicit()) && !pureFunction(Callee, Depth)))
      return false;
  }
  if (const CXXConstructExpr *C = dyn_cast<CXXConstructExpr>(S))
    if (!C->getConstructor()->isTrivial() && !pureFunction(C->getConstructor(), Depth))
      return false;
  if (isa<CXXNewExpr, CXXDeleteExpr, CXXThrowExpr, AsmStmt, LambdaExpr, StmtExpr, AtomicExpr>(S))
    return false;
  return llvm::all_of(S->children(), [&](const Stmt *Child) { return pure(Child, Within, Depth); });
}

bool isPure(const Expr *E) { return pure(E, nullptr, 0); }
bool isPureFunction(const FunctionDecl *F) { return pureFunction(F, 0); }

bool takesCopies(const ParmVarDecl *P) {
  const FunctionDecl *F = dyn_cast<FunctionDecl>(P->getDeclContext());
  QualType T = P->getType(), Result = F ? F->getReturnType() : QualType();
  return F && T->isLValueReferenceType() && T.getNonReferenceType().isConstQualified() && !Result->isReferenceType() &&
         !Result->isPointerType() && isPureFunction(F);
}

namespace {

/// What an expression with side effects changes: variables and members by name.
class Changes : public RecursiveASTVisitor<Changes> {
public:
  explicit Changes(const Expr *E) { TraverseStmt(const_cast<Expr *>(E)); }
  bool VisitBinaryOperator(BinaryOperator *E) { return !E->isAssignmentOp() || changes(E->getLHS()); }
  bool VisitUnaryOperator(UnaryOperator *E) { return !E->isIncrementDecrementOp() || changes(E->getSubExpr()); }
  bool VisitCallExpr(CallExpr *E) {
    const FunctionDecl *F = E->getDirectCallee();
    if (F && touchesOneObject(F) && E->getNumArgs())
      return changes(E->getArg(0));
    Unknown |= !F || !isPureFunction(F);
    return true;
  }
  bool VisitStmt(Stmt *S) {
    Unknown |= isa<CXXNewExpr, CXXDeleteExpr, CXXThrowExpr, AsmStmt, LambdaExpr, StmtExpr, AtomicExpr>(S);
    return true;
  }
  bool contains(const ValueDecl *D) const { return Named.count(D->getCanonicalDecl()); }

  bool Unknown = false;  ///< and anything that is not a local variable
  QualType Referenced;   ///< and any object of this type

private:
  bool changes(const Expr *E) {
    E = E->IgnoreParenCasts();
    if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E))
      return changes(U->getSubExpr());
    if (const ArraySubscriptExpr *A = dyn_cast<ArraySubscriptExpr>(E))
      return changes(A->getBase());
    if (const BinaryOperator *B = dyn_cast<BinaryOperator>(E); B && B->isAdditiveOp())
      return changes(B->getLHS()) && changes(B->getRHS());
    if (const MemberExpr *M = dyn_cast<MemberExpr>(E)) {
      Named.insert(M->getMemberDecl()->getCanonicalDecl());
      return isa<CXXThisExpr>(M->getBase()->IgnoreParenImpCasts()) || changes(M->getBase());
    }
    const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E);
    if (!R) {
      Unknown |= !isa<IntegerLiteral>(E);
      return true;
    }
    Named.insert(R->getDecl()->getCanonicalDecl());
    if (R->getDecl()->getType()->isReferenceType()) {
      if (!Referenced.isNull())
        Unknown = true;
      Referenced = R->getDecl()->getType().getNonReferenceType().getCanonicalType().getUnqualifiedType();
    }
    return true;
  }
  llvm::SmallPtrSet<const Decl *, 8> Named;
};

/// Whether an expression reads something that changes.
class Reads : public RecursiveASTVisitor<Reads> {
public:
  Reads(const Expr *E, const Changes &C) : C(C) { TraverseStmt(const_cast<Expr *>(E)); }
  bool VisitDeclRefExpr(DeclRefExpr *E) {
    if (const VarDecl *V = dyn_cast<VarDecl>(E->getDecl()); V && !V->getType().isConstQualified())
      see(V, !V->hasLocalStorage() || V->getType()->isReferenceType());
    return true;
  }
  bool VisitMemberExpr(MemberExpr *E) {
    if (isa<FieldDecl>(E->getMemberDecl()))
      see(E->getMemberDecl(), E->isArrow());
    return true;
  }
  bool VisitArraySubscriptExpr(ArraySubscriptExpr *) { return seeMemory(); }
  bool VisitUnaryOperator(UnaryOperator *U) { return U->getOpcode() != UO_Deref || seeMemory(); }
  bool Any = false;

private:
  void see(const ValueDecl *D, bool Shared) {
    QualType T = D->getType().getNonReferenceType().getCanonicalType().getUnqualifiedType();
    Any |= C.contains(D) || (!C.Referenced.isNull() && T == C.Referenced) || (C.Unknown && Shared);
  }
  bool seeMemory() {
    Any |= C.Unknown;
    return true;
  }
  const Changes &C;
};

} // namespace

bool orderMatters(llvm::ArrayRef<const Expr *> Operands) {
  const Expr *Impure = nullptr;
  for (const Expr *E : Operands) {
    if (isPure(E))
      continue;
    if (Impure)
      return true;
    Impure = E;
  }
  if (!Impure)
    return false;
  Changes C(Impure);
  return llvm::any_of(Operands, [&](const Expr *E) { return E != Impure && Reads(E, C).Any; });
}

namespace {

class Uses : public RecursiveASTVisitor<Uses> {
public:
  Uses(const VarDecl *V) : V(V) {}
  bool VisitDeclRefExpr(DeclRefExpr *E) {
    if (E->getDecl() == V)
      Found.push_back(E);
    return true;
  }
  const VarDecl *V;
  std::vector<const Expr *> Found;
};

} // namespace

static bool onlyDereferenced(const VarDecl *V, ASTContext &Context, unsigned Depth) {
  if (V->getType()->isReferenceType())
    return !V->getType().getNonReferenceType()->isArrayType();
  const FunctionDecl *F = dyn_cast<FunctionDecl>(V->getDeclContext());
  const FunctionDecl *Definition = nullptr;
  if (!F || Depth >= MaxCallDepth || !F->hasBody(Definition))
    return false;
  if (const ParmVarDecl *P = dyn_cast<ParmVarDecl>(V))
    V = Definition->getParamDecl(P->getFunctionScopeIndex());
  Uses Refs(V);
  Refs.TraverseStmt(Definition->getBody());
  for (const Expr *E : Refs.Found) {
    const Expr *Child = E;
    const Expr *Parent = nullptr;
    do {
      if (Parent)
        Child = Parent;
      auto Parents = Context.getParents(*Child);
      Parent = Parents.empty() ? nullptr : Parents[0].get<Expr>();
    } while (Parent && isa<ParenExpr, ImplicitCastExpr>(Parent));
    const UnaryOperator *U = dyn_cast_or_null<UnaryOperator>(Parent);
    if (U && U->getOpcode() == UO_Deref)
      continue;
    const CallExpr *C = dyn_cast_or_null<CallExpr>(Parent);
    const FunctionDecl *Callee = C ? C->getDirectCallee() : nullptr;
    if (!Callee)
      return false;
    if (touchesOneObject(Callee))
      continue;
    unsigned Argument = std::find(C->arg_begin(), C->arg_end(), Child) - C->arg_begin();
    if (Argument >= Callee->getNumParams() || !onlyDereferenced(Callee->getParamDecl(Argument), Context, Depth + 1))
      return false;
  }
  return true;
}

bool onlyDereferenced(const VarDecl *V, ASTContext &Context) { return onlyDereferenced(V, Context, 0); }

} // namespace restride
