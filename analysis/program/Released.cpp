#include "analysis/program/Released.h"
#include "analysis/program/Around.h"
#include "analysis/program/Purity.h"

#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/AST/StmtCXX.h"
#include "llvm/ADT/STLExtras.h"

using namespace clang;

namespace restride {

namespace {

class Uses : public DynamicRecursiveASTVisitor {
public:
  explicit Uses(const ValueDecl *D) : D(D) { ShouldVisitImplicitCode = ShouldVisitTemplateInstantiations = true; }
  bool TraverseDecl(Decl *Next) override { // a template's instantiations show what it does
    const FunctionDecl *F = dyn_cast_or_null<FunctionDecl>(Next);
    return (F && F->isDependentContext()) || DynamicRecursiveASTVisitor::TraverseDecl(Next);
  }
  bool VisitDeclRefExpr(DeclRefExpr *E) override {
    if (E->getDecl() == D)
      Found.push_back(E);
    return true;
  }
  bool VisitMemberExpr(MemberExpr *E) override {
    if (E->getMemberDecl() == D)
      Found.push_back(E);
    return true;
  }
  const ValueDecl *D;
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
    if (const CXXMemberCallExpr *Push = dyn_cast<CXXMemberCallExpr>(Call); Push && appends(F))
      return container(Push->getImplicitObjectArgument()->IgnoreParenImpCasts(), Depth);
    if (isLibraryFunction(F))
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
    const DeclStmt *Statement = statementOf(V, Context);
    if (const CXXForRangeStmt *Loop = dyn_cast_or_null<CXXForRangeStmt>(parentOf(Statement, Context)))
      return Loop->getRangeStmt() == Statement && variable(Loop->getLoopVariable(), Depth + 1);
    const FunctionDecl *In = dyn_cast<FunctionDecl>(V->getDeclContext());
    return In && V->hasLocalStorage() && llvm::all_of(usesOf(V, In), [&](const Expr *E) {
      auto Up = Context.getParents(*E);
      const VarDecl *Loop = Up.empty() ? nullptr : Up[0].get<VarDecl>();
      return Loop && Loop->isImplicit() && range(Loop, Depth + 1);
    });
  }
  static bool appends(const FunctionDecl *F) {
    const CXXMethodDecl *Method = dyn_cast<CXXMethodDecl>(F);
    return Method && Method->getParent()->isInStdNamespace() && F->getDeclName().isIdentifier() && (F->getName() == "push_back" || F->getName() == "emplace_back");
  }
  /// A std::vector of such pointers, local or a private member that its class alone sees: it grows, and loops go through it.
  bool container(const Expr *E, unsigned Depth) const {
    const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E);
    const MemberExpr *M = dyn_cast<MemberExpr>(E);
    const VarDecl *V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
    const FieldDecl *Field = M ? dyn_cast<FieldDecl>(M->getMemberDecl()) : nullptr;
    std::vector<const Expr *> All;
    if (const FunctionDecl *In = V && V->hasLocalStorage() && !V->getType()->isReferenceType() ? dyn_cast<FunctionDecl>(V->getDeclContext()) : nullptr) {
      All = usesOf(V, In);
    } else if (const CXXRecordDecl *Class = Field && Field->getAccess() == AS_private ? dyn_cast<CXXRecordDecl>(Field->getParent()) : nullptr) {
      if (Class->hasFriends() || !Class->isCompleteDefinition())
        return false;
      Uses Of(Field);
      Of.TraverseDecl(const_cast<CXXRecordDecl *>(Class));
      for (const CXXMethodDecl *Method : Class->methods())
        if (const FunctionDecl *Definition = Method->getDefinition(); Definition && Definition->isOutOfLine())
          Of.TraverseStmt(Definition->getBody());
        else if (!Definition && !Method->isDefaulted() && !Method->isDeleted() && !Method->isDependentContext())
          return false; // defined in another file
      All = Of.Found;
    }
    return !All.empty() && llvm::all_of(All, [&](const Expr *Use) { return growsOrIsWalked(Use, Depth); });
  }
  bool growsOrIsWalked(const Expr *Use, unsigned Depth) const {
    bool Any = false;
    for (const DynTypedNode &Parent : Context.getParents(*Use)) {
      if (Parent.get<OverloadExpr>()) // in a template, whose instantiations share it
        continue;
      if (const ImplicitCastExpr *C = Parent.get<ImplicitCastExpr>(); C ? !growsOrIsWalked(C, Depth) : !isHarmless(Parent, Depth))
        return false;
      Any = true;
    }
    return Any;
  }
  bool isHarmless(const DynTypedNode &Parent, unsigned Depth) const {
    if (const VarDecl *Loop = Parent.get<VarDecl>())
      return Loop->isImplicit() && range(Loop, Depth + 1);
    const MemberExpr *Function = Parent.get<MemberExpr>();
    const CXXMethodDecl *F = Function ? dyn_cast<CXXMethodDecl>(Function->getMemberDecl()) : nullptr;
    if (!F || !F->getDeclName().isIdentifier())
      return false;
    const llvm::StringRef Name = F->getName();
    return appends(F) || Name == "reserve" || Name == "clear" || Name == "size" || Name == "empty";
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
