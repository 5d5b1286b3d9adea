#include "analysis/program/Purity.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace clang;

namespace restride {

static constexpr unsigned MaxCallDepth = 8;

static llvm::StringRef nameOf(const FunctionDecl *F) {
  return F->getDeclName().isIdentifier() ? F->getName() : llvm::StringRef();
}

bool isLibraryFunction(const FunctionDecl *F) {
  return F->getBuiltinID() || F->getASTContext().getSourceManager().isInSystemHeader(F->getLocation());
}

bool touchesOneObject(const FunctionDecl *F) {
  llvm::StringRef Name = nameOf(F);
  if (!isLibraryFunction(F))
    return false;
  return Name.starts_with("atomic") || Name.starts_with("__iAtomic") || Name.starts_with("__ld") ||
         Name.starts_with("__st");
}

/// __ldg and its kind read what their argument points to.
static bool isLoad(const FunctionDecl *F) {
  return touchesOneObject(F) && nameOf(F).starts_with("__ld") && nameOf(F) != "__ldcv";
}

/// A library function of numbers: no pointers in, a number out.
static bool isArithmeticFunction(const FunctionDecl *F) {
  llvm::StringRef Name = nameOf(F);
  if (Name.empty() || !isLibraryFunction(F))
    return false;
  for (llvm::StringRef Impure : {"__shfl", "__ballot", "__any", "__all", "__match", "__reduce", "__sync", "__cluster", "clock", "rand"})
    if (Name.starts_with(Impure))
      return false;
  if (F->param_empty() || !F->getReturnType().getNonReferenceType()->isArithmeticType())
    return false;
  return llvm::all_of(F->parameters(), [](const ParmVarDecl *P) {
    QualType T = P->getType();
    if (T->isReferenceType())
      return T.getNonReferenceType().isConstQualified() && T.getNonReferenceType()->isArithmeticType();
    return T->isArithmeticType();
  });
}

/// The variable that an assignment to \p E changes, if it is a whole local
/// variable (or a member or element of one) and not something behind a pointer.
static const VarDecl *assignedLocal(const Expr *E) {
  E = E->IgnoreParenImpCasts();
  if (const MemberExpr *M = dyn_cast<MemberExpr>(E); M && !M->isArrow())
    return assignedLocal(M->getBase());
  if (const ArraySubscriptExpr *A = dyn_cast<ArraySubscriptExpr>(E))
    return A->getBase()->IgnoreParenImpCasts()->getType()->isArrayType() ? assignedLocal(A->getBase()) : nullptr;
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E);
  const VarDecl *V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
  return V && V->hasLocalStorage() && !V->getType()->isReferenceType() ? V : nullptr;
}

const ParmVarDecl *changedOperand(const FunctionDecl *F) {
  if (!F || isa<CXXMethodDecl>(F) || !F->isOverloadedOperator() || F->param_empty())
    return nullptr;
  QualType T = F->getParamDecl(0)->getType();
  return T->isLValueReferenceType() && !T.getNonReferenceType().isConstQualified() ? F->getParamDecl(0) : nullptr;
}

/// The object whose function this is, a member of it, or an element of one.
/// \p Operand: its name in an operator that is no member.
static bool isOwn(const Expr *E, const VarDecl *Operand) {
  E = E->IgnoreParenImpCasts();
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E))
    return Operand && R->getDecl() == Operand;
  if (const ArraySubscriptExpr *A = dyn_cast<ArraySubscriptExpr>(E))
    return A->getBase()->IgnoreParenImpCasts()->getType()->isArrayType() && isOwn(A->getBase(), Operand);
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E); U && U->getOpcode() == UO_Deref)
    return isa<CXXThisExpr>(U->getSubExpr()->IgnoreParenImpCasts());
  const MemberExpr *M = dyn_cast<MemberExpr>(E);
  return M && (isa<CXXThisExpr>(M->getBase()->IgnoreParenImpCasts()) || (!M->isArrow() && isOwn(M->getBase(), Operand)));
}

namespace {

/// What may change without anybody noticing.
struct Scope {
  bool Locals = false; ///< a function's body
  bool Own = false;    ///< the object of a member function, which is local where it is called
  unsigned Depth = 0;
  const VarDecl *Operand = nullptr; ///< the name of that object in an operator that is no member
  bool allows(const Expr *Target) const { return (Locals && assignedLocal(Target)) || (Own && isOwn(Target, Operand)); }
};

} // namespace

static bool pure(const Stmt *S, Scope In);

static bool pureFunction(const FunctionDecl *F, unsigned Depth, bool OwnObject) {
  if (isArithmeticFunction(F) || isLoad(F))
    return true;
  const FunctionDecl *Definition = nullptr;
  const CXXMethodDecl *Method = dyn_cast<CXXMethodDecl>(F);
  if (Depth >= MaxCallDepth || (Method && Method->isVirtual()) || !F->hasBody(Definition))
    return false;
  Scope Inside{true, OwnObject, Depth + 1, changedOperand(Definition)};
  if (const CXXConstructorDecl *C = dyn_cast<CXXConstructorDecl>(Definition))
    for (const CXXCtorInitializer *I : C->inits())
      if (!pure(I->getInit(), Inside))
        return false;
  return pure(Definition->getBody(), Inside);
}

/// threadIdx.x and its kind are calls behind a property.
static bool isThreadProperty(const PseudoObjectExpr *E) {
  const Expr *Syntactic = E->getSyntacticForm()->IgnoreParenImpCasts();
  const MSPropertyRefExpr *Property = dyn_cast<MSPropertyRefExpr>(Syntactic);
  return Property && Property->getPropertyDecl()->getName().size() == 1;
}

static bool pureCall(const CallExpr *C, Scope In) {
  const FunctionDecl *Callee = C->getDirectCallee();
  if (!Callee)
    return false;
  const Expr *Object = nullptr;
  if (const CXXMemberCallExpr *M = dyn_cast<CXXMemberCallExpr>(C))
    Object = M->getImplicitObjectArgument();
  else if (const CXXOperatorCallExpr *O = dyn_cast<CXXOperatorCallExpr>(C); O && (isa<CXXMethodDecl>(Callee) || changedOperand(Callee)))
    Object = O->getArg(0);
  bool Arrow = Object && Object->getType()->isPointerType();
  bool Own = Object && (Arrow ? In.Own && isa<CXXThisExpr>(Object->IgnoreParenImpCasts()) : In.allows(Object));
  if (Callee->isTrivial() && isa<CXXMethodDecl>(Callee)) // an assignment
    return Own;
  return pureFunction(Callee, In.Depth, Own);
}

static bool pure(const Stmt *S, Scope In) {
  if (!S)
    return true;
  if (const PseudoObjectExpr *P = dyn_cast<PseudoObjectExpr>(S))
    return isThreadProperty(P);
  if (const CXXDefaultArgExpr *D = dyn_cast<CXXDefaultArgExpr>(S))
    return pure(D->getExpr(), In);
  if (const CXXDefaultInitExpr *D = dyn_cast<CXXDefaultInitExpr>(S))
    return pure(D->getExpr(), In);
  if (const Expr *E = dyn_cast<Expr>(S); E && E->isGLValue() && E->getType().isVolatileQualified())
    return false;
  if (const BinaryOperator *B = dyn_cast<BinaryOperator>(S); B && B->isAssignmentOp() && !In.allows(B->getLHS()))
    return false;
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(S); U && U->isIncrementDecrementOp() && !In.allows(U->getSubExpr()))
    return false;
  if (const CallExpr *C = dyn_cast<CallExpr>(S); C && !pureCall(C, In))
    return false;
  if (const CXXConstructExpr *C = dyn_cast<CXXConstructExpr>(S))
    if (!C->getConstructor()->isTrivial() && !pureFunction(C->getConstructor(), In.Depth, true))
      return false;
  if (isa<CXXNewExpr, CXXDeleteExpr, CXXThrowExpr, AsmStmt, LambdaExpr, StmtExpr, AtomicExpr, CXXBindTemporaryExpr>(S))
    return false;
  if (const DeclStmt *D = dyn_cast<DeclStmt>(S))
    for (const Decl *One : D->decls()) // a destructor is a call
      if (const VarDecl *V = dyn_cast<VarDecl>(One); V && V->needsDestruction(V->getASTContext()))
        return false;
  return llvm::all_of(S->children(), [&](const Stmt *Child) { return pure(Child, In); });
}

bool isPure(const Expr *E) { return pure(E, {}); }
bool isPureFunction(const FunctionDecl *F, bool OwnObject) { return pureFunction(F, 0, OwnObject || isa<CXXConstructorDecl>(F)); }

namespace {

class Uses : public DynamicRecursiveASTVisitor {
public:
  Uses(const VarDecl *V) : V(V) {}
  bool VisitDeclRefExpr(DeclRefExpr *E) override {
    if (E->getDecl() == V)
      Found.push_back(E);
    return true;
  }
  const VarDecl *V;
  std::vector<const Expr *> Found;
};

} // namespace

bool keepsSize(const CastExpr *C, ASTContext &Context) {
  const QualType From = C->getSubExpr()->getType(), To = C->getType();
  if (!From->isPointerType() || !To->isPointerType())
    return false;
  auto number = [&](QualType T) { return T->isArithmeticType() ? Context.getTypeSize(T) : 0; };
  const uint64_t Size = number(From->getPointeeType());
  return Size && Size == number(To->getPointeeType());
}

static bool onlyDereferenced(const VarDecl *V, ASTContext &Context, unsigned Depth);
static bool staysInside(const Expr *E, ASTContext &Context, unsigned Depth);

/// \p E is bound to a reference parameter of a call.
static bool staysInCall(const CallExpr *Call, const Expr *E, ASTContext &Context, unsigned Depth) {
  const FunctionDecl *F = Call->getDirectCallee();
  unsigned I = std::find(Call->arg_begin(), Call->arg_end(), E) - Call->arg_begin();
  const CXXMethodDecl *M = dyn_cast_or_null<CXXMethodDecl>(F);
  bool Operator = M && isa<CXXOperatorCallExpr>(Call);
  if (Operator && M->isTrivial()) // an assignment
    return I > 0 || staysInside(Call, Context, Depth);
  I -= Operator;
  if (!F || Operator || I >= F->getNumParams() || Depth >= MaxCallDepth)
    return false;
  if (!F->getASTContext().getSourceManager().isInSystemHeader(F->getLocation()))
    return onlyDereferenced(F->getParamDecl(I), Context, Depth + 1) && (!Call->isGLValue() || staysInside(Call, Context, Depth));
  QualType Result = F->getReturnType(); // std::min, std::swap
  return Call->isGLValue() ? staysInside(Call, Context, Depth) : Result->isVoidType() || Result->isArithmeticType();
}

static bool staysInside(const Expr *E, ASTContext &Context, unsigned Depth) {
  if (!E->isGLValue())
    return true;
  auto Parents = Context.getParents(*E);
  if (Parents.empty())
    return false;
  if (const VarDecl *V = Parents[0].get<VarDecl>())
    return V->getType()->isReferenceType() && onlyDereferenced(V, Context, Depth + 1);
  const Stmt *S = Parents[0].get<Stmt>();
  if (!S)
    return false;
  if (const CastExpr *C = dyn_cast<CastExpr>(S))
    return C->getCastKind() == CK_LValueToRValue || C->getType()->isVoidType() ||
           (C->getCastKind() == CK_NoOp && staysInside(C, Context, Depth));
  if (const BinaryOperator *B = dyn_cast<BinaryOperator>(S))
    return (B->isCommaOp() && B->getLHS() == E) || staysInside(B, Context, Depth);
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(S); U && U->getOpcode() == UO_AddrOf) {
    auto Above = Context.getParents(*U);
    const Stmt *Outer = Above.empty() ? nullptr : Above[0].get<Stmt>();
    while (Outer && (isa<ParenExpr, ImplicitCastExpr>(Outer) || (isa<CastExpr>(Outer) && keepsSize(cast<CastExpr>(Outer), Context)))) {
      Above = Context.getParents(*Outer);
      Outer = Above.empty() ? nullptr : Above[0].get<Stmt>();
    }
    const CallExpr *Call = dyn_cast_or_null<CallExpr>(Outer);
    return Call && Call->getDirectCallee() && touchesOneObject(Call->getDirectCallee());
  }
  if (isa<ParenExpr, UnaryOperator, ConditionalOperator, ExprWithCleanups>(S))
    return staysInside(cast<Expr>(S), Context, Depth);
  if (const MemberExpr *M = dyn_cast<MemberExpr>(S))
    return isa<FieldDecl>(M->getMemberDecl()) && staysInside(M, Context, Depth);
  if (const CallExpr *Call = dyn_cast<CallExpr>(S))
    return staysInCall(Call, E, Context, Depth);
  if (const CXXConstructExpr *C = dyn_cast<CXXConstructExpr>(S))
    return C->getConstructor()->isTrivial();
  return isa<CompoundStmt, IfStmt, ForStmt, WhileStmt, DoStmt, SwitchCase, LabelStmt>(S); // its value is not used
}

bool staysInside(const Expr *E, ASTContext &Context) { return staysInside(E, Context, 0); }

static bool onlyDereferenced(const VarDecl *V, ASTContext &Context, unsigned Depth) {
  const FunctionDecl *F = dyn_cast<FunctionDecl>(V->getDeclContext());
  const FunctionDecl *Definition = nullptr;
  if (!F || Depth >= MaxCallDepth || !F->hasBody(Definition))
    return false;
  if (const ParmVarDecl *P = dyn_cast<ParmVarDecl>(V))
    V = Definition->getParamDecl(P->getFunctionScopeIndex());
  Uses Refs(V);
  Refs.TraverseStmt(Definition->getBody());
  if (V->getType()->isReferenceType())
    return llvm::all_of(Refs.Found, [&](const Expr *E) { return staysInside(E, Context, Depth); });
  for (const Expr *E : Refs.Found) {
    const Expr *Child = E;
    const Expr *Parent = nullptr;
    do {
      if (Parent)
        Child = Parent;
      auto Parents = Context.getParents(*Child);
      Parent = Parents.empty() ? nullptr : Parents[0].get<Expr>();
    } while (Parent && (isa<ParenExpr, ImplicitCastExpr>(Parent) || (isa<CastExpr>(Parent) && keepsSize(cast<CastExpr>(Parent), Context))));
    const UnaryOperator *U = dyn_cast_or_null<UnaryOperator>(Parent);
    if (U && U->getOpcode() == UO_Deref)
      continue;
    const CallExpr *C = dyn_cast_or_null<CallExpr>(Parent);
    const FunctionDecl *Callee = C ? C->getDirectCallee() : nullptr;
    if (!Callee)
      return false;
    if (touchesOneObject(Callee))
      continue;
    unsigned Argument = std::find(C->arg_begin(), C->arg_end(), Child) - C->arg_begin();
    if (Argument >= Callee->getNumParams() || !onlyDereferenced(Callee->getParamDecl(Argument), Context, Depth + 1))
      return false;
  }
  return true;
}

bool onlyDereferenced(const VarDecl *V, ASTContext &Context) { return onlyDereferenced(V, Context, 0); }

} // namespace restride
