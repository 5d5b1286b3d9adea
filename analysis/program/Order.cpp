// Whether it matters in which order expressions are evaluated: what one of them
// changes, and what the others read.

#include "analysis/program/Purity.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace clang;

namespace restride {

static QualType plain(QualType T) { return T.getNonReferenceType().getCanonicalType().getUnqualifiedType(); }

/// \p T is one of the types that a record is made of.
static bool isPartOf(QualType T, const CXXRecordDecl *Record) {
  for (const CXXBaseSpecifier &B : Record->bases())
    if (plain(B.getType()) == T || isPartOf(T, B.getType()->getAsCXXRecordDecl()))
      return true;
  for (const FieldDecl *F : Record->fields()) {
    QualType Part(F->getType()->getBaseElementTypeUnsafe(), 0);
    const CXXRecordDecl *Nested = Part->getAsCXXRecordDecl();
    if (plain(Part) == T || (Nested && Nested->hasDefinition() && isPartOf(T, Nested->getDefinition())))
      return true;
  }
  return false;
}

namespace {

/// What an expression with side effects changes: variables and members by name,
/// and any object that a pointer or reference of some type leads to.
class Changes : public DynamicRecursiveASTVisitor {
public:
  explicit Changes(const Expr *E) { TraverseStmt(const_cast<Expr *>(E)); }
  bool VisitBinaryOperator(BinaryOperator *E) override { return !E->isAssignmentOp() || changes(E->getLHS()); }
  bool VisitUnaryOperator(UnaryOperator *E) override { return !E->isIncrementDecrementOp() || changes(E->getSubExpr()); }
  bool VisitCallExpr(CallExpr *E) override {
    const FunctionDecl *F = E->getDirectCallee();
    if (F && touchesOneObject(F) && E->getNumArgs()) {
      // Nobody reads beside an atomic, under another name, what it changes.
      size_t Before = Types.size();
      changes(E->getArg(0));
      Types.resize(Before);
      return true;
    }
    Unknown |= !F || !isPureFunction(F);
    return true;
  }
  bool VisitStmt(Stmt *S) override {
    Unknown |= isa<CXXNewExpr, CXXDeleteExpr, CXXThrowExpr, AsmStmt, LambdaExpr, StmtExpr, AtomicExpr>(S);
    return true;
  }
  bool names(const ValueDecl *D) const { return Named.count(D->getCanonicalDecl()); }
  bool object(QualType T, bool Shared) const { return (Unknown && Shared) || llvm::is_contained(Types, plain(T)); }
  bool partOf(const CXXRecordDecl *R) const {
    return Unknown || llvm::any_of(Types, [&](QualType T) { return T->getAsCXXRecordDecl() == R || isPartOf(T, R); }) ||
           llvm::any_of(R->fields(), [&](const FieldDecl *F) { return names(F); }) ||
           llvm::any_of(R->bases(), [&](const CXXBaseSpecifier &B) { return partOf(B.getType()->getAsCXXRecordDecl()->getDefinition()); });
  }

private:
  bool changes(const Expr *E) {
    E = E->IgnoreParenCasts();
    if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E)) {
      if (U->getOpcode() == UO_Deref)
        Types.push_back(plain(E->getType()));
      return changes(U->getSubExpr());
    }
    if (const ArraySubscriptExpr *A = dyn_cast<ArraySubscriptExpr>(E)) {
      Types.push_back(plain(E->getType()));
      return changes(A->getBase());
    }
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
    if (R->getDecl()->getType()->isReferenceType())
      Types.push_back(plain(R->getDecl()->getType()));
    return true;
  }

  bool Unknown = false; ///< anything that is not a local variable
  llvm::SmallPtrSet<const Decl *, 8> Named;
  std::vector<QualType> Types;
};

/// Whether an expression reads something that changes.
class Reads : public DynamicRecursiveASTVisitor {
public:
  Reads(const Expr *E, const Changes &C) : C(C) { TraverseStmt(const_cast<Expr *>(E)); }
  bool VisitDeclRefExpr(DeclRefExpr *E) override {
    if (const VarDecl *V = dyn_cast<VarDecl>(E->getDecl()); V && !V->getType().isConstQualified())
      see(V, !V->hasLocalStorage() || V->getType()->isReferenceType());
    return true;
  }
  bool VisitMemberExpr(MemberExpr *E) override {
    if (isa<FieldDecl>(E->getMemberDecl()))
      see(E->getMemberDecl(), E->isArrow());
    return true;
  }
  bool VisitArraySubscriptExpr(ArraySubscriptExpr *E) override { return seeMemory(E->getType()); }
  bool VisitUnaryOperator(UnaryOperator *U) override { return U->getOpcode() != UO_Deref || seeMemory(U->getType()); }
  bool Any = false;

private:
  void see(const ValueDecl *D, bool Shared) { Any |= C.names(D) || C.object(D->getType(), Shared); }
  bool seeMemory(QualType T) {
    Any |= C.object(T, true);
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

bool mayChange(const Expr *E, const CXXRecordDecl *Record) { return !isPure(E) && Changes(E).partOf(Record); }

} // namespace restride
