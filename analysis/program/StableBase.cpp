#include "analysis/program/StableBase.h"
#include "analysis/program/Around.h"
#include "analysis/program/Purity.h"

#include "clang/AST/Attr.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace clang;

namespace restride {

namespace {

/// `grid.cells`, `this->grid->cells`, `cells`: what it is reached from, and all names on the way.
struct Chain {
  const Expr *Root = nullptr; ///< a DeclRefExpr or CXXThisExpr; null: something else
  llvm::SmallVector<const ValueDecl *, 4> Names;
};

} // namespace

static Chain chainOf(const Expr *Base) {
  Chain Out;
  const Expr *E = Base->IgnoreParenImpCasts();
  while (const MemberExpr *M = dyn_cast<MemberExpr>(E)) {
    if (!isa<FieldDecl>(M->getMemberDecl()))
      return {};
    Out.Names.push_back(M->getMemberDecl());
    E = M->getBase()->IgnoreParenImpCasts();
  }
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E); R && isa<VarDecl>(R->getDecl()))
    Out.Names.push_back(R->getDecl());
  else if (!isa<CXXThisExpr>(E))
    return {};
  Out.Root = E;
  return Out;
}

llvm::SmallVector<const ValueDecl *, 4> namesOf(const Expr *Base) { return chainOf(Base).Names; }

const ValueDecl *rootOf(const Expr *Base) {
  const auto Names = namesOf(Base);
  return Names.empty() ? nullptr : Names.back();
}

/// Device code shares objects with other threads; one that it has for itself, or only reads, is as it is.
static bool onlyRead(const Chain &C, const FunctionDecl *In) {
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(C.Root)) {
    const VarDecl *V = cast<VarDecl>(R->getDecl());
    const QualType T = V->getType();
    if (V->hasGlobalStorage())
      return V->hasAttr<CUDAConstantAttr>();
    return T->isPointerType() && C.Names.size() > 1 ? T->getPointeeType().isConstQualified()
                                                    : !T->isReferenceType() || T.getNonReferenceType().isConstQualified();
  }
  const CXXMethodDecl *Method = dyn_cast<CXXMethodDecl>(In);
  return Method && Method->isConst();
}

/// An object of a library that nothing of the program's is kept in: `std::mt19937`, `std::normal_distribution<float>`.
static bool isOfNumbers(const CXXRecordDecl *Library) {
  const ClassTemplateSpecializationDecl *S = dyn_cast<ClassTemplateSpecializationDecl>(Library);
  return S && llvm::all_of(S->getTemplateArgs().asArray(), [](const TemplateArgument &A) {
    return A.getKind() == TemplateArgument::Integral || (A.getKind() == TemplateArgument::Type && A.getAsType()->isArithmeticType());
  });
}

namespace {

class Changes : public DynamicRecursiveASTVisitor {
public:
  Changes(const Chain &C, const VarDecl *Alias, ASTContext &Context)
      : Type(C.Names.front()->getType()), Own(dyn_cast<VarDecl>(C.Names.back())), Alias(Alias), Context(Context) {
    for (const ValueDecl *D : C.Names) {
      Names.insert(cast<ValueDecl>(D->getCanonicalDecl()));
      if (const FieldDecl *F = dyn_cast<FieldDecl>(D))
        Holders.insert(cast<CXXRecordDecl>(F->getParent())->getCanonicalDecl());
    }
  }

  bool VisitMemberExpr(MemberExpr *E) override {
    return !Names.count(cast<ValueDecl>(E->getMemberDecl()->getCanonicalDecl())) || isRead(E) || isAnother(E);
  }
  bool VisitDeclRefExpr(DeclRefExpr *E) override {
    if (const FunctionDecl *F = dyn_cast<FunctionDecl>(E->getDecl())) // called here or by whom it is given to
      return isLibraryFunction(F) || (F->hasBody() && body(F));
    const VarDecl *V = dyn_cast<VarDecl>(E->getDecl());
    if (V && !callable(V->getType()))
      return false;
    // Objects are changed by their members, which are looked at, or as a whole.
    return !V || !Names.count(V->getCanonicalDecl()) || V->getType().getNonReferenceType()->isRecordType() || isRead(E);
  }
  bool VisitLambdaExpr(LambdaExpr *L) override { // may run later than the block
    struct Uses : DynamicRecursiveASTVisitor {
      bool VisitDeclRefExpr(DeclRefExpr *E) override { return E->getDecl() != Alias; }
      const VarDecl *Alias = nullptr;
    } Find;
    Find.Alias = Alias;
    return Find.TraverseStmt(L->getBody());
  }
  bool VisitBinaryOperator(BinaryOperator *B) override { return !B->isAssignmentOp() || (!holds(B->getLHS()->getType()) && !isReached(B->getLHS())); }
  bool VisitUnaryOperator(UnaryOperator *U) override { return !U->isIncrementDecrementOp() || !isReached(U->getSubExpr()); }
  bool VisitCXXConstructExpr(CXXConstructExpr *E) override { return body(E->getConstructor()) && callable(E->getType()); }
  bool VisitCallExpr(CallExpr *E) override {
    const FunctionDecl *F = E->getDirectCallee();
    const CXXMethodDecl *Method = dyn_cast_or_null<CXXMethodDecl>(F);
    if (!F || (Method && Method->isVirtual()))
      return false;
    if (const CXXOperatorCallExpr *Assignment = dyn_cast<CXXOperatorCallExpr>(E); Assignment && Assignment->isAssignmentOp() && holds(E->getArg(0)->getType()) && !isAnother(E->getArg(0)))
      return false;
    if (Method && Method->getOverloadedOperator() == OO_Call && isLibraryFunction(F) && !isOfNumbers(Method->getParent()))
      return false; // std::function calls what it was given
    if (F->hasBody())
      return body(F);
    // A library's function changes what it is given.
    return isLibraryFunction(F) && llvm::none_of(E->arguments(), [&](const Expr *A) {
      A = A->IgnoreParenCasts();
      if (const UnaryOperator *U = dyn_cast<UnaryOperator>(A); U && U->getOpcode() == UO_AddrOf)
        A = U->getSubExpr()->IgnoreParens();
      else if (A->getType()->isPointerType() && Context.hasSameUnqualifiedType(A->getType()->getPointeeType(), Type))
        return true;
      const QualType T = A->isLValue() && !A->getType()->isPointerType() ? A->getType() : A->getType()->getPointeeType();
      return (!T.isNull() && !T.isConstQualified() && holds(T)) || (A->isLValue() && isReached(A));
    });
  }

private:
  /// What calls of an object of the type do, lambdas' too: a library may make them.
  bool callable(QualType T) {
    const CXXRecordDecl *R = T.getNonReferenceType()->getAsCXXRecordDecl();
    return !R || !R->hasDefinition() || llvm::all_of(R->getDefinition()->methods(), [&](const CXXMethodDecl *F) { return F->getOverloadedOperator() != OO_Call || body(F); });
  }
  bool body(const FunctionDecl *F) {
    const FunctionDecl *Definition = nullptr;
    if (isLibraryFunction(F) || !F->hasBody(Definition) || !Seen.insert(Definition).second)
      return true;
    if (const CXXConstructorDecl *C = dyn_cast<CXXConstructorDecl>(Definition))
      for (const CXXCtorInitializer *I : C->inits())
        if (!TraverseStmt(I->getInit()))
          return false;
    return TraverseStmt(Definition->getBody());
  }
  /// Objects of the type have one of the members.
  bool holds(QualType T) const {
    const CXXRecordDecl *R = T.getNonReferenceType()->getAsCXXRecordDecl();
    if (!R || !R->hasDefinition())
      return false;
    return Holders.count(R->getCanonicalDecl()) || llvm::any_of(R->getDefinition()->fields(), [&](const FieldDecl *F) { return holds(F->getType()); }) ||
           llvm::any_of(R->getDefinition()->bases(), [&](const CXXBaseSpecifier &B) { return holds(B.getType()); });
  }
  /// A pointer of that type which is not named, or by a reference, so that it may be the one.
  bool isReached(const Expr *E) const {
    E = E->IgnoreParens();
    if (!Context.hasSameUnqualifiedType(E->getType(), Type) || isa<MemberExpr>(E))
      return false;
    const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E);
    return !R || R->getDecl()->getType()->isReferenceType();
  }
  /// A local object that is not the one: neither has another name, or it begins later.
  bool isAnother(const Expr *E) const {
    const Chain C = chainOf(E);
    const VarDecl *V = C.Names.empty() ? nullptr : dyn_cast<VarDecl>(C.Names.back());
    if (!V || !V->hasLocalStorage() || !V->getType()->isRecordType() || V == Own)
      return false;
    return (Own && Own->hasLocalStorage() && Own->getType()->isRecordType()) ||
           (V->getDeclContext() == Alias->getDeclContext() && Context.getSourceManager().isBeforeInTranslationUnit(Alias->getLocation(), V->getLocation()));
  }
  bool isRead(const Expr *E) {
    auto Parents = Context.getParents(*E);
    const Stmt *Up = Parents.empty() ? nullptr : Parents[0].get<Stmt>();
    if (const CastExpr *C = dyn_cast_or_null<CastExpr>(Up))
      return C->getCastKind() == CK_LValueToRValue || C->getType().isConstQualified();
    if (const ParenExpr *P = dyn_cast_or_null<ParenExpr>(Up))
      return isRead(P);
    return isa_and_nonnull<UnaryExprOrTypeTraitExpr>(Up);
  }

  llvm::SmallPtrSet<const ValueDecl *, 4> Names;
  llvm::SmallPtrSet<const CXXRecordDecl *, 4> Holders;
  llvm::SmallPtrSet<const FunctionDecl *, 16> Seen;
  QualType Type; ///< of the pointer
  const VarDecl *Own; ///< the variable that it is reached from; null: `this`
  const VarDecl *Alias;
  ASTContext &Context;
};

} // namespace

bool staysWhile(const Expr *Base, const VarDecl *Alias, ASTContext &Context) {
  const Chain C = chainOf(Base);
  const FunctionDecl *In = dyn_cast<FunctionDecl>(Alias->getDeclContext());
  if (!C.Root || !In || C.Names.empty())
    return false;
  if (const ValueDecl *Pointer = C.Names.front(); Pointer->getType()->isReferenceType()) // which has another name
    return false;
  if (runsOnDevice(In) && !onlyRead(C, In))
    return false;
  const DeclStmt *Statement = statementOf(Alias, Context);
  const Stmt *Around = parentOf(Statement, Context);
  Changes Search(C, Alias, Context);
  if (const ForStmt *Loop = dyn_cast_or_null<ForStmt>(Around))
    return Search.TraverseStmt(const_cast<ForStmt *>(Loop));
  const CompoundStmt *Block = dyn_cast_or_null<CompoundStmt>(Around);
  if (!Block)
    return false;
  bool Lives = false;
  for (const Stmt *S : Block->body()) {
    Lives |= S == Statement;
    if (Lives && !Search.TraverseStmt(const_cast<Stmt *>(S)))
      return false;
  }
  return true;
}

} // namespace restride
