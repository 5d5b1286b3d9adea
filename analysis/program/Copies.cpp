// Whether a function may be given a copy of an element in place of the element.

#include "analysis/program/Purity.h"

#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/STLExtras.h"

using namespace clang;

namespace restride {

static constexpr unsigned MaxCallDepth = 8;

/// An object that the function has for itself.
static bool isOwnLocal(const Expr *E) {
  E = E->IgnoreParenImpCasts();
  if (const MemberExpr *M = dyn_cast<MemberExpr>(E); M && !M->isArrow())
    return isOwnLocal(M->getBase());
  if (const ArraySubscriptExpr *A = dyn_cast<ArraySubscriptExpr>(E))
    return isOwnLocal(A->getBase());
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E);
  const VarDecl *V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
  return isa<StringLiteral>(E) || (V && !V->getType()->isReferenceType() && !V->getType()->isPointerType());
}

static bool keepsAddress(const FunctionDecl *F, unsigned Depth);

/// In \p S the address of an object becomes a value: it is stored, compared,
/// returned or passed on. \p Followed: the value of \p S is only a way to what
/// it points to, as in (&x)[i] and this->x.
static bool keepsAddress(const Stmt *S, bool Followed, unsigned Depth) {
  if (!S || isa<PseudoObjectExpr>(S))
    return false;
  auto In = [&](const Stmt *Child, bool Follow) { return keepsAddress(Child, Follow, Depth); };
  if (isa<CXXThisExpr>(S))
    return !Followed;
  if (isa<ParenExpr>(S))
    return In(cast<ParenExpr>(S)->getSubExpr(), Followed);
  if (const ArraySubscriptExpr *A = dyn_cast<ArraySubscriptExpr>(S))
    return In(A->getBase(), true) || In(A->getIdx(), false);
  if (const MemberExpr *M = dyn_cast<MemberExpr>(S))
    return In(M->getBase(), true);
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(S); U && U->getOpcode() == UO_Deref)
    return In(U->getSubExpr(), true);
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(S); U && U->getOpcode() == UO_AddrOf)
    return (!Followed && !isOwnLocal(U->getSubExpr())) || In(U->getSubExpr(), false);
  if (const BinaryOperator *B = dyn_cast<BinaryOperator>(S); B && B->isAdditiveOp() && B->getType()->isPointerType())
    return In(B->getLHS(), Followed) || In(B->getRHS(), Followed);
  if (const CastExpr *C = dyn_cast<CastExpr>(S)) {
    if (C->getCastKind() == CK_ArrayToPointerDecay)
      return (!Followed && !isOwnLocal(C->getSubExpr())) || In(C->getSubExpr(), false);
    return In(C->getSubExpr(), Followed && C->getType()->isPointerType());
  }
  if (const InitListExpr *L = dyn_cast<InitListExpr>(S))
    if (const CXXRecordDecl *R = L->getType()->getAsCXXRecordDecl())
      if (llvm::any_of(R->fields(), [](const FieldDecl *F) { return F->getType()->isReferenceType(); }))
        return true;
  if (const CallExpr *C = dyn_cast<CallExpr>(S))
    if (const FunctionDecl *Callee = C->getDirectCallee(); Callee && keepsAddress(Callee, Depth))
      return true;
  if (const CXXConstructExpr *C = dyn_cast<CXXConstructExpr>(S); C && keepsAddress(C->getConstructor(), Depth))
    return true;
  return llvm::any_of(S->children(), [&](const Stmt *Child) { return In(Child, false); });
}

static bool keepsAddress(const FunctionDecl *F, unsigned Depth) {
  const FunctionDecl *Definition = nullptr;
  if (!F->hasBody(Definition))
    return false;
  if (Depth >= MaxCallDepth)
    return true;
  if (const CXXConstructorDecl *C = dyn_cast<CXXConstructorDecl>(Definition))
    for (const CXXCtorInitializer *I : C->inits()) {
      bool Binds = I->getMember() && I->getMember()->getType()->isReferenceType();
      if (Binds || keepsAddress(I->getInit(), false, Depth + 1))
        return true;
    }
  return keepsAddress(Definition->getBody(), false, Depth + 1);
}

bool worksOnCopies(const FunctionDecl *F) { return isPureFunction(F) && !keepsAddress(F, 0); }

bool takesCopies(const ParmVarDecl *P) {
  const FunctionDecl *F = dyn_cast<FunctionDecl>(P->getDeclContext());
  QualType T = P->getType();
  return F && T->isLValueReferenceType() && T.getNonReferenceType().isConstQualified() && !F->getReturnType()->isReferenceType() &&
         worksOnCopies(F);
}

} // namespace restride
