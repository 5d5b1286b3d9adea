// Whether a function may be given a copy of an element in place of the element.

#include "analysis/program/Purity.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

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

static bool isConstReference(QualType T) { return T->isLValueReferenceType() && T.getNonReferenceType().isConstQualified(); }

bool takesCopies(const ParmVarDecl *P) {
  const FunctionDecl *F = dyn_cast<FunctionDecl>(P->getDeclContext());
  return F && isConstReference(P->getType()) && !F->getReturnType()->isReferenceType() && worksOnCopies(F);
}

namespace {

/// \p E is a part of the object that \p P refers to: no pointer leads there.
bool isPartOf(const Expr *E, const ParmVarDecl *P) {
  E = E->IgnoreParenImpCasts();
  if (const MemberExpr *M = dyn_cast<MemberExpr>(E))
    return !M->isArrow() && isPartOf(M->getBase(), P);
  if (const ArraySubscriptExpr *A = dyn_cast<ArraySubscriptExpr>(E))
    return A->getBase()->IgnoreParenImpCasts()->getType()->isArrayType() && isPartOf(A->getBase(), P);
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E);
  return R && R->getDecl() == P;
}

/// Subscripts of member arrays of a parameter.
class MemberSearches : public DynamicRecursiveASTVisitor {
public:
  explicit MemberSearches(const ParmVarDecl *P) : P(P) {}
  bool VisitArraySubscriptExpr(ArraySubscriptExpr *A) override {
    Found |= isPartOf(A, P) && !A->getIdx()->isIntegerConstantExpr(P->getASTContext());
    return !Found;
  }
  bool Found = false;

private:
  const ParmVarDecl *P;
};

} // namespace

bool searchesMembers(const ParmVarDecl *P) {
  const FunctionDecl *F = dyn_cast<FunctionDecl>(P->getDeclContext());
  const FunctionDecl *Definition = F ? F->getDefinition() : nullptr;
  if (!Definition || Definition->isDependentContext())
    return false;
  MemberSearches Search(Definition->getParamDecl(P->getFunctionScopeIndex()));
  Search.TraverseStmt(Definition->getBody());
  return Search.Found;
}

namespace {

/// What a function reads of a parameter and writes of its object.
class ReadsAndWrites : public DynamicRecursiveASTVisitor {
public:
  ReadsAndWrites(const FunctionDecl *F, const ParmVarDecl *P) : P(P), Operand(changedOperand(F)) { TraverseStmt(F->getBody()); }

  bool VisitDeclRefExpr(DeclRefExpr *E) override {
    if (E->getDecl() == P)
      Reads.try_emplace(E, nullptr);
    return true;
  }
  bool VisitMemberExpr(MemberExpr *E) override {
    const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E->getBase()->IgnoreParenImpCasts());
    if (R && R->getDecl() == P && isa<FieldDecl>(E->getMemberDecl()))
      Reads[R] = E->getMemberDecl();
    return true;
  }
  bool VisitBinaryOperator(BinaryOperator *B) override { return !B->isAssignmentOp() || write(B->getLHS(), B); }
  bool VisitUnaryOperator(UnaryOperator *U) override { return !U->isIncrementDecrementOp() || write(U->getSubExpr(), U); }
  bool VisitCXXOperatorCallExpr(CXXOperatorCallExpr *O) override { return call(O, O->getArg(0)); }
  bool VisitCXXMemberCallExpr(CXXMemberCallExpr *C) override { return call(C, C->getImplicitObjectArgument()); }
  bool VisitVarDecl(VarDecl *V) override {
    Unclear |= V->getType()->isReferenceType();
    return true;
  }
  bool VisitStmt(Stmt *S) override {
    Unclear |= isa<ForStmt, WhileStmt, DoStmt, CXXForRangeStmt, GotoStmt>(S);
    return true;
  }
  bool VisitReturnStmt(ReturnStmt *R) override {
    const Expr *E = R->getRetValue() ? R->getRetValue()->IgnoreParenImpCasts() : nullptr;
    const UnaryOperator *U = dyn_cast_or_null<UnaryOperator>(E);
    Other |= !E || !isObject(U && U->getOpcode() == UO_Deref ? U->getSubExpr()->IgnoreParenImpCasts() : E);
    return true;
  }

  bool returnsOther() const { return Other; }
  /// No field of the parameter is read after the object's was written.
  bool inOrder(const SourceManager &Sources) const {
    if (Writes.empty() || Reads.empty())
      return true;
    if (Unclear)
      return false;
    for (auto [Use, Read] : Reads)
      for (auto [Written, From] : Writes)
        if ((!Written || !Read || Read == Written) && Sources.isBeforeInTranslationUnit(From, Use->getLocation()))
          return false;
    return true;
  }

private:
  /// \p Call works on \p Object. It may read its arguments, which may lie in the
  /// same object, after it began to write.
  bool call(const CallExpr *Call, const Expr *Object) {
    const FunctionDecl *F = Call->getDirectCallee();
    if (F && !F->isTrivial() && isPureFunction(F))
      return true;
    bool ReadsFirst = F && (F->isTrivial() || llvm::all_of(F->parameters(), [&](const ParmVarDecl *P) {
                              return P == changedOperand(F) || !P->getType()->isReferenceType() || takesCopies(P, true);
                            }));
    return write(Object, Call, !ReadsFirst);
  }

  /// The member of the object that \p E is in, or null for the object itself,
  /// changes once \p Whole was evaluated; or \p AtOnce.
  bool write(const Expr *E, const Expr *Whole, bool AtOnce = false) {
    const ValueDecl *Member = nullptr;
    for (E = E->IgnoreParenImpCasts();; E = E->IgnoreParenImpCasts()) {
      if (const MemberExpr *M = dyn_cast<MemberExpr>(E))
        Member = M->getMemberDecl(), E = M->getBase();
      else if (const ArraySubscriptExpr *A = dyn_cast<ArraySubscriptExpr>(E))
        E = A->getBase();
      else if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E))
        E = U->getSubExpr();
      else
        break;
    }
    if (isObject(E))
      Writes.push_back({Member, AtOnce ? Whole->getBeginLoc() : Whole->getEndLoc()});
    return true;
  }

  /// `this`, or the name of the object in an operator that is no member.
  bool isObject(const Expr *E) const {
    const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E);
    return isa<CXXThisExpr>(E) || (R && Operand && R->getDecl() == Operand);
  }

  const ParmVarDecl *P, *Operand;
  bool Unclear = false; ///< loops, other names for what is read
  bool Other = false;
  std::map<const DeclRefExpr *, const ValueDecl *> Reads; ///< null: as a whole
  std::vector<std::pair<const ValueDecl *, SourceLocation>> Writes;
};

} // namespace

bool takesCopies(const ParmVarDecl *P, bool MayBeObject) {
  const FunctionDecl *F = dyn_cast<FunctionDecl>(P->getDeclContext());
  const CXXMethodDecl *M = dyn_cast_or_null<CXXMethodDecl>(F);
  F = F ? F->getDefinition() : nullptr;
  bool Changes = M ? !M->isStatic() : changedOperand(F) != nullptr;
  if (!F || !Changes || !isConstReference(P->getType()) || !isPureFunction(F, true) || keepsAddress(F, 0))
    return false;
  ReadsAndWrites Fields(F, F->getParamDecl(P->getFunctionScopeIndex()));
  return !(F->getReturnType()->isReferenceType() && Fields.returnsOther()) &&
         (!MayBeObject || Fields.inOrder(F->getASTContext().getSourceManager()));
}

} // namespace restride
