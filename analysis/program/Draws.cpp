#include "analysis/program/Draws.h"

#include "analysis/program/HostPlaces.h"
#include "analysis/program/Returned.h"

#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace restride {

/// The class whose objects \p C calls; null: a function is called.
static const CXXRecordDecl *calledClass(const CallExpr *C) {
  const CXXOperatorCallExpr *O = dyn_cast<CXXOperatorCallExpr>(C);
  return O && O->getOperator() == OO_Call ? O->getArg(0)->getType()->getAsCXXRecordDecl() : nullptr;
}

/// Of a generator or a distribution of a library.
static bool isLibraryDraw(const Stmt *S) {
  const CallExpr *C = dyn_cast<CallExpr>(S);
  if (!C)
    return false;
  const llvm::StringRef Class = identifierOf(calledClass(C));
  return Class.ends_with("_distribution") || Class.ends_with("_engine") ||
         llvm::StringSwitch<bool>(identifierOf(C->getDirectCallee())).Cases({"rand", "rand_r", "random", "lrand48", "mrand48", "drand48", "erand48"}, true).Default(false);
}

bool drawsAtRandom(const CallExpr *C) {
  if (isLibraryDraw(C))
    return true;
  const FunctionDecl *F = C->getDirectCallee();
  return F && C->getType()->isArithmeticType() && !F->isInStdNamespace() && (isGenerator(F) || anyStatement(F, isLibraryDraw));
}

bool anyDraw(const Stmt *S) {
  const CallExpr *C = dyn_cast<CallExpr>(S);
  return (C && drawsAtRandom(C)) || llvm::any_of(S->children(), [](const Stmt *Child) { return Child && anyDraw(Child); });
}

/// What the object that \p C calls was made with: a variable, or one made here.
static const CXXConstructExpr *madeOf(const CallExpr *C) {
  const Expr *Object = C->getArg(0)->IgnoreUnlessSpelledInSource();
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(Object))
    if (const VarDecl *V = dyn_cast<VarDecl>(R->getDecl()))
      Object = V->getInit() ? V->getInit()->IgnoreUnlessSpelledInSource() : nullptr;
  return dyn_cast_or_null<CXXConstructExpr>(Object);
}

static const Expr *given(const CXXConstructExpr *Made, unsigned I) {
  const Expr *A = Made->getNumArgs() > I ? Made->getArg(I) : nullptr;
  if (const CXXDefaultArgExpr *Default = dyn_cast_or_null<CXXDefaultArgExpr>(A))
    return Default->getExpr();
  return A && A->getType().getNonReferenceType()->isArithmeticType() ? A : nullptr;
}

std::optional<DrawnBetween> drawnBetween(const CallExpr *C) {
  if (const CXXRecordDecl *Class = calledClass(C); Class && Class->isInStdNamespace()) {
    const bool IsUniform = identifierOf(Class).starts_with("uniform_") && identifierOf(Class).ends_with("_distribution");
    const CXXConstructExpr *Made = IsUniform ? madeOf(C) : nullptr;
    const Expr *Low = Made ? given(Made, 0) : nullptr, *High = Made ? given(Made, 1) : nullptr;
    return Low && High ? std::optional(DrawnBetween{Low, High}) : std::nullopt;
  }
  const llvm::ArrayRef<const Expr *> Arguments = argumentsOf(C);
  const bool AllReal = llvm::all_of(Arguments, [](const Expr *A) { return A->getType()->isRealFloatingType(); });
  if (!C->getType()->isRealFloatingType() || !AllReal || Arguments.empty() || Arguments.size() > 2 || !drawsAtRandom(C))
    return std::nullopt;
  return DrawnBetween{Arguments.size() > 1 ? Arguments[0] : nullptr, Arguments.back()};
}

const Expr *drawnShare(const CallExpr *C) {
  const CXXConstructExpr *Made = identifierOf(calledClass(C)) == "bernoulli_distribution" ? madeOf(C) : nullptr;
  return Made ? given(Made, 0) : nullptr;
}

} // namespace restride
