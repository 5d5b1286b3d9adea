#include "analysis/program/Released.h"

#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/STLExtras.h"

using namespace clang;

namespace restride {

namespace {

class Uses : public DynamicRecursiveASTVisitor {
public:
  explicit Uses(const VarDecl *V) : V(V) { ShouldVisitImplicitCode = true; }
  bool VisitDeclRefExpr(DeclRefExpr *E) override {
    if (E->getDecl() == V)
      Found.push_back(E);
    return true;
  }
  const VarDecl *V;
  std::vector<const Expr *> Found;
};

/// Where a value goes, seen from its variables.
class Search {
public:
  explicit Search(ASTContext &Context) : Context(Context) {}

  bool value(const Expr *E, unsigned Depth) const {
    auto Parents = Context.getParents(*E);
    if (Parents.empty() || Depth > 8)
      return false;
    if (const VarDecl *V = Parents[0].get<VarDecl>())
      return variable(V, Depth);
    const Stmt *Up = Parents[0].get<Stmt>();
    if (isa_and_nonnull<InitListExpr>(Up))
      return list(cast<Expr>(Up), Depth);
    if (const CastExpr *C = dyn_cast_or_null<CastExpr>(Up))
      return C->getCastKind() == CK_PointerToBoolean || C->getType()->isVoidType() || (C->getType()->isVoidPointerType() && value(C, Depth));
    if (isa_and_nonnull<ParenExpr, ExprWithCleanups, MaterializeTemporaryExpr>(Up))
      return value(cast<Expr>(Up), Depth);
    if (const BinaryOperator *B = dyn_cast_or_null<BinaryOperator>(Up))
      return B->isEqualityOp() && (B->getLHS() == E ? B->getRHS() : B->getLHS())->isNullPointerConstant(Context, Expr::NPC_ValueDependentIsNull);
    const CallExpr *Call = dyn_cast_or_null<CallExpr>(Up);
    const FunctionDecl *F = Call ? Call->getDirectCallee() : nullptr;
    const unsigned Argument = Call ? std::find(Call->arg_begin(), Call->arg_end(), E) - Call->arg_begin() : 0;
    if (!F || !F->getDeclName().isIdentifier() || Argument >= F->getNumParams())
      return false;
    if (Context.getSourceManager().isInSystemHeader(F->getLocation()))
      return Argument == 0 && (F->getName() == "cudaFree" || F->getName() == "cudaFreeAsync");
    const FunctionDecl *Definition = nullptr;
    return F->hasBody(Definition) && variable(Definition->getParamDecl(Argument), Depth + 1);
  }

private:
  /// All uses of a local variable.
  bool variable(const VarDecl *V, unsigned Depth) const {
    const FunctionDecl *In = dyn_cast<FunctionDecl>(V->getDeclContext());
    if (!In || !V->hasLocalStorage() || !V->getType().getNonReferenceType()->isVoidPointerType())
      return false;
    return llvm::all_of(usesOf(V, In), [&](const Expr *E) { return value(E, Depth + 1); });
  }
  /// A list of pointers that loops go through.
  bool list(const Expr *E, unsigned Depth) const {
    auto Parents = Context.getParents(*E);
    while (!Parents.empty() && Parents[0].get<Expr>() && isa<InitListExpr, ImplicitCastExpr, MaterializeTemporaryExpr, ExprWithCleanups, CXXStdInitializerListExpr, CXXFunctionalCastExpr>(Parents[0].get<Expr>()))
      Parents = Context.getParents(*Parents[0].get<Expr>());
    const VarDecl *V = Parents.empty() ? nullptr : Parents[0].get<VarDecl>();
    return V && range(V, Depth);
  }
  bool range(const VarDecl *V, unsigned Depth) const {
    auto Parents = Context.getParents(*V);
    const DeclStmt *Statement = Parents.empty() ? nullptr : Parents[0].get<DeclStmt>();
    auto Above = Statement ? Context.getParents(*Statement) : DynTypedNodeList(DynTypedNode());
    if (const CXXForRangeStmt *Loop = Statement && !Above.empty() ? Above[0].get<CXXForRangeStmt>() : nullptr)
      return Loop->getRangeStmt() == Statement && variable(Loop->getLoopVariable(), Depth + 1);
    const FunctionDecl *In = dyn_cast<FunctionDecl>(V->getDeclContext());
    return In && V->hasLocalStorage() && llvm::all_of(usesOf(V, In), [&](const Expr *E) {
      auto Up = Context.getParents(*E);
      const VarDecl *Loop = Up.empty() ? nullptr : Up[0].get<VarDecl>();
      return Loop && Loop->isImplicit() && range(Loop, Depth + 1);
    });
  }
  static std::vector<const Expr *> usesOf(const VarDecl *V, const FunctionDecl *In) {
    Uses Of(V);
    Of.TraverseStmt(In->getBody());
    return Of.Found;
  }

  ASTContext &Context;
};

} // namespace

bool onlyReleased(const Expr *E, ASTContext &Context) { return Search(Context).value(E, 0); }

} // namespace restride
