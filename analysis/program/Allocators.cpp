#include "analysis/program/Allocators.h"
#include "analysis/program/Around.h"
#include "analysis/program/HostPlaces.h"

#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "llvm/ADT/STLExtras.h"

using namespace clang;

namespace restride {

static constexpr unsigned MaxDepth = 3; ///< of error checks that call each other

/// The variable that \p E is, whatever pointer it is made into.
static const VarDecl *variable(const Expr *E) {
  const DeclRefExpr *R = E ? dyn_cast<DeclRefExpr>(E->IgnoreParenCasts()) : nullptr;
  return R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
}

namespace {

/// What a function does besides computing with its own variables.
class Body : public DynamicRecursiveASTVisitor {
public:
  Body(const FunctionDecl *F, const SourceView &View, unsigned Depth) : View(View), Depth(Depth) { TraverseStmt(F->getBody()); }

  bool VisitDeclRefExpr(DeclRefExpr *E) override {
    const VarDecl *V = dyn_cast<VarDecl>(E->getDecl());
    if (V && V->hasLocalStorage())
      Named[V].push_back(E);
    else if (V && !V->getType().isConstQualified())
      Quiet &= !View.isUserCode(V->getLocation());
    return true;
  }
  bool VisitReturnStmt(ReturnStmt *R) override {
    Returned.push_back(R->getRetValue());
    return true;
  }
  bool VisitCallExpr(CallExpr *C) override { return calls(C->getDirectCallee()); }
  bool VisitCXXConstructExpr(CXXConstructExpr *C) override {
    const CXXConstructorDecl *F = C->getConstructor();
    Quiet &= !View.isUserCode(F->getLocation()) || F->getParent()->hasTrivialDestructor();
    return F->isTrivial() || calls(F);
  }
  bool VisitStmt(Stmt *S) override {
    Quiet &= !isa<CXXThisExpr, CXXNewExpr, CXXDeleteExpr, LambdaExpr, AsmStmt>(S);
    return Quiet;
  }

  bool Quiet = true;
  std::vector<const Expr *> Returned;
  llvm::DenseMap<const VarDecl *, std::vector<const Expr *>> Named;

private:
  bool calls(const FunctionDecl *F) {
    const FunctionDecl *Definition = nullptr;
    Quiet &= F && (!View.isUserCode(F->getLocation()) || (Depth < MaxDepth && F->hasBody(Definition) && Body(Definition, View, Depth + 1).Quiet));
    return Quiet;
  }

  const SourceView &View;
  unsigned Depth;
};

/// What becomes of a pointer, from one place that names it.
class Allocation {
public:
  Allocation(const SourceView &View, ASTContext &Context) : View(View), Context(Context) {}

  /// The pointer stays in the function, or is what it returns.
  bool keeps(const Expr *E) {
    const Stmt *Up = outOfCasts(E);
    if (isa_and_nonnull<ReturnStmt>(Up) || tests(Up, E))
      return true;
    if (const UnaryOperator *U = dyn_cast_or_null<UnaryOperator>(Up); U && U->getOpcode() == UO_AddrOf) {
      const Expr *Address = U;
      const CallExpr *Call = dyn_cast_or_null<CallExpr>(outOfCasts(Address));
      if (runtimeFunction(Call) != "cudaMalloc" || Call->getArg(0) != Address || Bytes)
        return false;
      Bytes = dyn_cast_or_null<ParmVarDecl>(variable(Call->getArg(1)));
      return Bytes;
    }
    const CallExpr *Call = dyn_cast_or_null<CallExpr>(Up);
    const llvm::StringRef Name = runtimeFunction(Call);
    return (Name == "cudaMemcpy" || Name == "cudaMemset" || Name == "cudaFree") && Call->getArg(0) == E;
  }
  /// The pointer is only copied from, or compared with null.
  bool reads(const Expr *E) {
    const Stmt *Up = outOfCasts(E);
    const CallExpr *Call = dyn_cast_or_null<CallExpr>(Up);
    return tests(Up, E) || (runtimeFunction(Call) == "cudaMemcpy" && Call->getArg(1) == E);
  }

  const ParmVarDecl *Bytes = nullptr;

private:
  /// Where \p E, with the casts around it, stands.
  const Stmt *outOfCasts(const Expr *&E) {
    for (;;) {
      const Stmt *Up = parentOf(E, Context);
      if (!isa_and_nonnull<CastExpr, ParenExpr>(Up))
        return Up;
      E = cast<Expr>(Up);
    }
  }
  bool tests(const Stmt *Up, const Expr *E) {
    if (E->getType()->isBooleanType())
      return true;
    const BinaryOperator *B = dyn_cast_or_null<BinaryOperator>(Up);
    if (!B || !(B->isEqualityOp() || B->getOpcode() == BO_Assign))
      return false;
    const Expr *Other = B->getLHS() == E ? B->getRHS() : B->getLHS();
    return Other->isNullPointerConstant(Context, Expr::NPC_ValueDependentIsNull);
  }

  llvm::StringRef runtimeFunction(const CallExpr *Call) const {
    const FunctionDecl *F = Call ? Call->getDirectCallee() : nullptr;
    return F && !View.isUserCode(F->getLocation()) ? identifierOf(F) : "";
  }

  const SourceView &View;
  ASTContext &Context;
};

/// Only its value is asked for.
static bool staysAsItIs(const Expr *E, ASTContext &Context) {
  const ImplicitCastExpr *C = dyn_cast_or_null<ImplicitCastExpr>(parentOf(E, Context));
  return C && C->getCastKind() == CK_LValueToRValue;
}

} // namespace

const ParmVarDecl *allocatedBytes(const FunctionDecl *F, const SourceView &View, ASTContext &Context) {
  const FunctionDecl *Definition = nullptr;
  if (!F || !F->getReturnType()->isVoidPointerType() || !View.isUserCode(F->getLocation()) || !F->hasBody(Definition) ||
      Definition->isDependentContext() || runsOnDevice(Definition))
    return nullptr;
  if (const CXXMethodDecl *M = dyn_cast<CXXMethodDecl>(F); M && M->isVirtual())
    return nullptr;
  const Body All(Definition, View, 0);
  if (!All.Quiet)
    return nullptr;
  const auto isNull = [&](const Expr *E) { return !E || E->isNullPointerConstant(Context, Expr::NPC_ValueDependentIsNull); };
  const VarDecl *Result = nullptr;
  for (const Expr *E : All.Returned) {
    if (isNull(E))
      continue;
    const VarDecl *V = variable(E);
    if (!V || (Result && V != Result))
      return nullptr;
    Result = V;
  }
  if (!Result || !Result->hasLocalStorage() || isa<ParmVarDecl>(Result) || !Result->getType()->isVoidPointerType() || !isNull(Result->getInit()))
    return nullptr;
  Allocation One(View, Context);
  for (const auto &[V, Places] : All.Named) {
    const bool Pointer = V->getType()->isPointerType() || V->getType()->isReferenceType();
    if (const QualType To = V->getType()->getPointeeType(); V != Result && Pointer && To.isConstQualified() && To->isCharType())
      continue; // a message
    if (Pointer && !llvm::all_of(Places, [&](const Expr *E) { return V == Result ? One.keeps(E) : One.reads(E); }))
      return nullptr;
  }
  return One.Bytes && llvm::all_of(All.Named.lookup(One.Bytes), [&](const Expr *E) { return staysAsItIs(E, Context); }) ? One.Bytes : nullptr;
}

} // namespace restride
