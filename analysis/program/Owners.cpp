#include "analysis/program/Owners.h"
#include "analysis/program/Flow.h"
#include "analysis/program/HostPlaces.h"

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/TypeLoc.h"

using namespace clang;

namespace restride {

static const ClassTemplateSpecializationDecl *uniquePointer(QualType T) {
  const auto *S = dyn_cast_or_null<ClassTemplateSpecializationDecl>(T.getNonReferenceType()->getAsCXXRecordDecl());
  return S && S->isInStdNamespace() && identifierOf(S) == "unique_ptr" && S->getTemplateArgs().size() == 2 ? S : nullptr;
}

/// `cudaFree(p);`, alone or where \p P is not null.
static bool onlyFrees(const Stmt *S, const ParmVarDecl *P, const SourceView &View) {
  if (const CompoundStmt *Block = dyn_cast_or_null<CompoundStmt>(S))
    return Block->size() == 1 && onlyFrees(Block->body_front(), P, View);
  const auto names = [&](const Expr *E) {
    const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E->IgnoreParenCasts());
    return R && R->getDecl() == P;
  };
  if (const IfStmt *If = dyn_cast_or_null<IfStmt>(S))
    return !If->getElse() && !If->getInit() && If->getCond() && names(If->getCond()) && onlyFrees(If->getThen(), P, View);
  const Expr *E = dyn_cast_or_null<Expr>(S);
  const CallExpr *Call = E ? dyn_cast<CallExpr>(withoutCasts(E)) : nullptr;
  const FunctionDecl *F = Call ? Call->getDirectCallee() : nullptr;
  return F && !View.isUserCode(F->getLocation()) && identifierOf(F) == "cudaFree" && names(Call->getArg(0));
}

/// It has no state, and calls of it free what they get.
static bool isPlainDeleter(const CXXRecordDecl *D, const SourceView &View) {
  if (!D || !D->hasDefinition() || !View.isUserCode(D->getLocation()) || !D->isEmpty() || D->getNumBases())
    return false;
  const CXXMethodDecl *Frees = nullptr;
  for (const Decl *Member : D->decls()) {
    const CXXMethodDecl *M = dyn_cast<CXXMethodDecl>(Member);
    if (isa<TypedefNameDecl, FunctionTemplateDecl>(Member) || (M && M->getOverloadedOperator() == OO_Call && Frees))
      return false;
    if (M && M->getOverloadedOperator() == OO_Call)
      Frees = M;
  }
  const FunctionDecl *Definition = nullptr;
  return Frees && Frees->getNumParams() == 1 && Frees->hasBody(Definition) && onlyFrees(Definition->getBody(), Definition->getParamDecl(0), View);
}

const CXXRecordDecl *ownedRecord(QualType T, const SourceView &View) {
  const ClassTemplateSpecializationDecl *Owner = T.isNull() || T->isDependentType() ? nullptr : uniquePointer(T);
  if (!Owner || Owner->getTemplateArgs()[0].getKind() != TemplateArgument::Type || Owner->getTemplateArgs()[1].getKind() != TemplateArgument::Type)
    return nullptr;
  QualType Element = Owner->getTemplateArgs()[0].getAsType();
  if (const ArrayType *A = Element->getAsArrayTypeUnsafe())
    Element = isa<IncompleteArrayType>(A) ? A->getElementType() : QualType();
  const CXXRecordDecl *Record = Element.isNull() || Element.hasQualifiers() ? nullptr : userRecord(Element, View);
  return Record && isPlainDeleter(Owner->getTemplateArgs()[1].getAsType()->getAsCXXRecordDecl(), View) ? Record : nullptr;
}

bool isOwnerTemplate(const TemplateDecl *T) {
  if (const TypeAliasTemplateDecl *Alias = dyn_cast_or_null<TypeAliasTemplateDecl>(T)) {
    const auto *Of = Alias->getTemplatedDecl()->getUnderlyingType()->getAs<TemplateSpecializationType>();
    return Of && isOwnerTemplate(Of->getTemplateName().getAsTemplateDecl());
  }
  return isa_and_nonnull<ClassTemplateDecl>(T) && T->isInStdNamespace() && identifierOf(T) == "unique_ptr";
}

std::string ownerType(QualType T, const SourceView &View) {
  return T.getNonReferenceType().getUnqualifiedType().getAsString(View.options());
}

/// One step of ownedBy(); \p E itself at the end, null where there is nothing.
static const Expr *inside(const Expr *E) {
  if (const FullExpr *F = dyn_cast<FullExpr>(E))
    return F->getSubExpr();
  if (const MaterializeTemporaryExpr *M = dyn_cast<MaterializeTemporaryExpr>(E))
    return M->getSubExpr();
  if (const CXXBindTemporaryExpr *B = dyn_cast<CXXBindTemporaryExpr>(E))
    return B->getSubExpr();
  if (const CastExpr *C = dyn_cast<CastExpr>(E); C && uniquePointer(C->getType()))
    return C->getSubExpr();
  if (const ParenExpr *P = dyn_cast<ParenExpr>(E))
    return P->getSubExpr();
  if (const InitListExpr *L = dyn_cast<InitListExpr>(E); L && uniquePointer(L->getType()))
    return L->getNumInits() == 1 ? L->getInit(0) : nullptr;
  if (const CXXConstructExpr *C = dyn_cast<CXXConstructExpr>(E); C && uniquePointer(C->getType())) {
    const bool Empty = C->getNumArgs() == 0 || C->getArg(0)->getType()->isNullPtrType();
    return Empty ? nullptr : C->getNumArgs() == 1 || isa<CXXDefaultArgExpr>(C->getArg(1)) ? C->getArg(0) : E;
  }
  const CallExpr *Call = dyn_cast<CallExpr>(E);
  if (Call && Call->isCallToStdMove())
    return Call->getArg(0);
  return E;
}

const Expr *ownedBy(const Expr *E) {
  for (;;) {
    const Expr *Next = inside(E);
    if (Next == E || !Next)
      return Next;
    E = Next;
  }
}

std::vector<SourceRange> ownersNamed(const Expr *E) {
  std::vector<SourceRange> Out;
  const auto add = [&](const TypeSourceInfo *T) {
    if (T && uniquePointer(T->getType()))
      Out.push_back(T->getTypeLoc().getSourceRange());
  };
  for (;;) {
    if (const ExplicitCastExpr *C = dyn_cast<ExplicitCastExpr>(E))
      add(C->getTypeInfoAsWritten());
    else if (const CXXTemporaryObjectExpr *T = dyn_cast<CXXTemporaryObjectExpr>(E))
      add(T->getTypeSourceInfo());
    const Expr *Next = inside(E);
    if (Next == E || !Next)
      return Out;
    E = Next;
  }
}

const Expr *ownerOf(const Expr *E) {
  const CXXMemberCallExpr *Call = dyn_cast<CXXMemberCallExpr>(E->IgnoreParenImpCasts());
  const llvm::StringRef Name = Call ? identifierOf(Call->getMethodDecl()) : "";
  return (Name == "get" || Name == "release") && uniquePointer(Call->getImplicitObjectArgument()->getType()) ? Call->getImplicitObjectArgument() : nullptr;
}

} // namespace restride
