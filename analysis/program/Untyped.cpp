#include "analysis/program/Untyped.h"
#include "analysis/program/Around.h"
#include "analysis/program/Flow.h"
#include "analysis/program/FunctionVisitor.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace clang;

namespace restride {

namespace {

class Casts : public FunctionVisitor {
public:
  explicit Casts(const SourceView &View) : View(View) {}

  bool VisitExplicitCastExpr(ExplicitCastExpr *C) override {
    const DeclRefExpr *Name = inTemplate() ? nullptr : dyn_cast<DeclRefExpr>(C->getSubExpr()->IgnoreParenImpCasts());
    const VarDecl *V = Name ? dyn_cast<VarDecl>(Name->getDecl()) : nullptr;
    if (!V || !V->hasLocalStorage() || isa<ParmVarDecl>(V) || !V->getType()->isVoidPointerType())
      return true;
    if (const CXXRecordDecl *Record = trackedPointee(C->getType(), View))
      To[V].insert(Record->getCanonicalDecl());
    return true;
  }

  const SourceView &View;
  llvm::DenseMap<const VarDecl *, llvm::SmallPtrSet<const CXXRecordDecl *, 2>> To;
};

} // namespace

llvm::DenseMap<const VarDecl *, const CXXRecordDecl *> untypedPointers(llvm::ArrayRef<Decl *> Scope, const SourceView &View) {
  Casts Found(View);
  for (Decl *D : Scope)
    Found.TraverseDecl(D);
  llvm::DenseMap<const VarDecl *, const CXXRecordDecl *> Out;
  for (const auto &[V, Records] : Found.To)
    if (Records.size() == 1)
      Out[V] = (*Records.begin())->getDefinition();
  return Out;
}

const ExplicitCastExpr *typedBy(const Expr *E, ASTContext &Context) {
  const Stmt *Up = parentOf(E, Context);
  while (isa_and_nonnull<ParenExpr>(Up) || (isa_and_nonnull<ImplicitCastExpr>(Up) && cast<Expr>(Up)->getType()->isVoidPointerType()))
    Up = parentOf(Up, Context);
  return dyn_cast_or_null<ExplicitCastExpr>(Up);
}

} // namespace restride
