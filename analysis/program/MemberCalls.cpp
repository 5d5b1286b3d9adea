// Functions and operators that work on an element as a whole: given a copy of
// it where that makes no difference.

#include "analysis/program/Purity.h"
#include "analysis/program/Uses.h"

#include "clang/AST/ParentMapContext.h"

using namespace clang;

namespace restride {

/// The parameter that \p E is an argument for; null for the object of a member
/// operator and for what has none.
static const ParmVarDecl *parameterOf(const Expr *E, const Stmt *Call) {
  const FunctionDecl *Callee = nullptr;
  unsigned I = 0;
  if (const CallExpr *C = dyn_cast<CallExpr>(Call)) {
    Callee = C->getDirectCallee();
    I = std::find(C->arg_begin(), C->arg_end(), E) - C->arg_begin();
    if (isa<CXXOperatorCallExpr>(C) && isa_and_nonnull<CXXMethodDecl>(Callee) && I-- == 0)
      return nullptr;
  } else if (const CXXConstructExpr *C = dyn_cast<CXXConstructExpr>(Call)) {
    Callee = C->getConstructor();
    I = std::find(C->arg_begin(), C->arg_end(), E) - C->arg_begin();
  }
  return Callee && I < Callee->getNumParams() ? Callee->getParamDecl(I) : nullptr;
}

/// Another function of that name would take a temporary object, or one that is
/// not const, in place of \p F.
static bool hasRival(const FunctionDecl *F, const ParmVarDecl *P) {
  unsigned I = P ? P->getFunctionScopeIndex() : 0;
  for (const NamedDecl *Other : F->getDeclContext()->getRedeclContext()->lookup(F->getDeclName())) {
    const FunctionTemplateDecl *Template = dyn_cast<FunctionTemplateDecl>(Other);
    const FunctionDecl *G = Template ? Template->getTemplatedDecl() : dyn_cast<FunctionDecl>(Other);
    if (!G || G->getCanonicalDecl() == F->getCanonicalDecl() || (P && I >= G->getNumParams()))
      continue;
    if (P && G->getParamDecl(I)->getType()->isRValueReferenceType())
      return true;
    const CXXMethodDecl *M = dyn_cast<CXXMethodDecl>(G), *Own = dyn_cast<CXXMethodDecl>(F);
    if (!P && M && Own && M->getNumParams() == F->getNumParams() &&
        (M->getRefQualifier() == RQ_RValue || M->isConst() != Own->isConst()))
      return true;
  }
  return false;
}

static bool readAtOnce(const Expr *E, ASTContext &Context);

/// The member function \p F, called by \p Call, may have a copy as its object.
static bool objectCanBeCopy(const CXXMethodDecl *F, const CallExpr *Call, ASTContext &Context) {
  return worksOnCopies(F) && !hasRival(F, nullptr) && (!F->getReturnType()->isReferenceType() || readAtOnce(Call, Context));
}

/// The reference \p E is read before the full expression ends: it may lead into a copy.
static bool readAtOnce(const Expr *E, ASTContext &Context) {
  for (auto Parents = Context.getParents(*E); !Parents.empty(); Parents = Context.getParents(*E)) {
    const Expr *Up = Parents[0].get<Expr>();
    if (const CastExpr *Cast = dyn_cast_or_null<CastExpr>(Up); Cast && Cast->getCastKind() == CK_LValueToRValue)
      return true;
    if (const CXXConstructExpr *C = dyn_cast_or_null<CXXConstructExpr>(Up); C && C->getConstructor()->isCopyOrMoveConstructor())
      return true;
    if (const ParmVarDecl *P = Up ? parameterOf(E, Up) : nullptr)
      return takesCopies(P);
    if (const CXXOperatorCallExpr *O = dyn_cast_or_null<CXXOperatorCallExpr>(Up)) {
      const CXXMethodDecl *F = dyn_cast_or_null<CXXMethodDecl>(O->getDirectCallee());
      return F && O->getArg(0) == E && objectCanBeCopy(F, O, Context);
    }
    if (const CXXMemberCallExpr *C = dyn_cast_or_null<CXXMemberCallExpr>(Up))
      return C->getCallee() == E && C->getMethodDecl() && objectCanBeCopy(C->getMethodDecl(), C, Context);
    if (!Up || !isa<ParenExpr, ImplicitCastExpr, MemberExpr>(Up))
      return false;
    E = Up;
  }
  return false;
}

/// An argument beside \p E could change the element after the copy is made.
static bool changesBefore(const Expr *E, llvm::iterator_range<const Expr *const *> Arguments) {
  const CXXRecordDecl *Record = E->getType()->getAsCXXRecordDecl();
  return llvm::any_of(Arguments, [&](const Expr *A) { return A != E && (!Record || mayChange(A, Record)); });
}

static llvm::iterator_range<const Expr *const *> argumentsOf(const CallExpr *C) {
  const Expr *const *Begin = const_cast<CallExpr *>(C)->getArgs();
  return {Begin, Begin + C->getNumArgs()};
}

/// What a member function is called on is a variable of the function around it.
static bool isLocalObject(const CallExpr *Call) {
  const Expr *Object = nullptr;
  if (const CXXMemberCallExpr *M = dyn_cast<CXXMemberCallExpr>(Call))
    Object = M->getImplicitObjectArgument();
  else if (isa<CXXOperatorCallExpr>(Call))
    Object = Call->getArg(0);
  const DeclRefExpr *R = Object ? dyn_cast<DeclRefExpr>(Object->IgnoreParenImpCasts()) : nullptr;
  const VarDecl *V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
  return V && V->hasLocalStorage() && !V->getType()->isReferenceType() && !V->getType()->isPointerType();
}

/// The element or nested record \p E, used by \p Parent, can be a copy there.
bool UseClassifier::copies(const Expr *E, const Stmt *Parent) const {
  if (const CXXConstructExpr *C = dyn_cast_or_null<CXXConstructExpr>(Parent)) {
    if (C->getConstructor()->isCopyOrMoveConstructor())
      return true;
    const ParmVarDecl *P = parameterOf(E, C);
    const Expr *const *Begin = C->getArgs();
    return P && takesCopies(P) && !hasRival(C->getConstructor(), P) && !changesBefore(E, {Begin, Begin + C->getNumArgs()});
  }
  const CallExpr *Call = dyn_cast_or_null<CallExpr>(Parent);
  const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
  if (!Callee)
    return false;
  const CXXMethodDecl *Method = isa<CXXOperatorCallExpr>(Call) ? dyn_cast<CXXMethodDecl>(Callee) : nullptr;
  if (Method && Method->isTrivial() && Call->getArg(1) == E) // an assignment
    return true;
  if (changesBefore(E, argumentsOf(Call)))
    return false;
  if (Method && Call->getArg(0) == E)
    return objectCanBeCopy(Method, Call, Context);
  const ParmVarDecl *P = parameterOf(E, Call);
  return P && (takesCopies(P) || takesCopies(P, !isLocalObject(Call))) && !hasRival(Callee, P);
}

/// \p M names a member function, called on what \p Path leads to; \p M is its last step.
void UseClassifier::memberFunction(const MemberExpr *M, const Pointer &P, std::vector<const Expr *> Path) {
  const CXXMethodDecl *F = cast<CXXMethodDecl>(M->getMemberDecl());
  const Stmt *S = parent(M);
  while (S && isa<ParenExpr>(S))
    S = parent(cast<Expr>(S));
  const CXXMemberCallExpr *Call = dyn_cast_or_null<CXXMemberCallExpr>(S);
  if (!Call || F->isStatic())
    return refuse(P, M->getExprLoc(), "a static member function is called through an element");
  // A private function is called from where the element is, and not by a friend.
  bool Callable = F->getAccess() == AS_public || llvm::any_of(F->getParent()->fields(), [](const FieldDecl *D) { return D->getAccess() != AS_public; });
  if (!Callable || !objectCanBeCopy(F, Call, Context) || changesBefore(M->getBase(), argumentsOf(Call))) {
    Path.pop_back();
    return inPlace(Call, F, M->getBase(), P, Path);
  }
  Access::Kind Kind = Path.size() > 1 ? Access::PartLoad : Access::Load;
  bool Implicit = isa<CXXConversionDecl>(F) && M->getMemberLoc().isInvalid();
  if (Implicit)
    Path.pop_back();
  addAccess(Kind, Implicit ? M->getBase() : M, P, Path);
}

/// What a function that works in place gives back is a field, which is used at once.
static bool usedAtOnce(const CallExpr *Call, ASTContext &Context) {
  const Expr *E = Call;
  for (auto Parents = Context.getParents(*E); !Parents.empty(); Parents = Context.getParents(*E)) {
    const Expr *Up = Parents[0].get<Expr>();
    if (const CastExpr *Cast = dyn_cast_or_null<CastExpr>(Up); Cast && Cast->getCastKind() == CK_LValueToRValue)
      return true;
    if (const BinaryOperator *B = dyn_cast_or_null<BinaryOperator>(Up))
      return B->isAssignmentOp() && B->getLHS() == E;
    if (const UnaryOperator *U = dyn_cast_or_null<UnaryOperator>(Up))
      return U->isIncrementDecrementOp();
    if (!Up || !isa<ParenExpr, ImplicitCastExpr>(Up))
      return false;
    E = Up;
  }
  return false;
}

/// A template of \p F's name could take an object of another type in its place.
static bool hasTemplateRival(const FunctionDecl *F) {
  for (const NamedDecl *Other : F->getDeclContext()->getRedeclContext()->lookup(F->getDeclName()))
    if (isa<FunctionTemplateDecl>(Other->getUnderlyingDecl()))
      return true;
  return F->isTemplateInstantiation();
}

/// \p Call changes the element, or nested record, \p Object, as \p F says: a
/// member function, or an operator that takes its first operand by reference.
void UseClassifier::inPlace(const CallExpr *Call, const FunctionDecl *F, const Expr *Object, const Pointer &P, llvm::ArrayRef<const Expr *> Path) {
  auto Unknown = [&](std::string What) { refuse(P, Call->getExprLoc(), std::move(What)); };
  std::string Name = "'" + F->getNameAsString() + "'";
  QualType Result = F->getReturnType();
  const CXXMethodDecl *Method = dyn_cast<CXXMethodDecl>(F);
  const CXXRecordDecl *Class = Method ? Method->getParent() : Object->getType()->getAsCXXRecordDecl()->getDefinition();
  if (Result->isLValueReferenceType() && Result->getPointeeType()->getAsCXXRecordDecl() == Class) {
    if (!resultIsUnused(Call))
      return Unknown("the result of " + Name + ", which works on an element in place, is used");
  } else if (Result->isReferenceType() && !resultIsUnused(Call) && !usedAtOnce(Call, Context)) {
    return Unknown("the reference that " + Name + " gives back is kept or passed on");
  }
  const FunctionDecl *Definition = F->getDefinition();
  if (!Definition || !View.isUserCode(F->getLocation()))
    return Unknown(Name + " works on an element in place, and its body is not seen");
  const MemberExpr *Member = dyn_cast<MemberExpr>(Call->getCallee()->IgnoreParens());
  bool Implicit = Member && Member->isImplicitAccess();
  MemberCall Site;
  Site.Operator = isa<CXXOperatorCallExpr>(Call);
  Site.Deduced = !Method && Path.empty() && hasTemplateRival(F);
  Site.Where = View.where(Call->getExprLoc());
  std::optional<Range> Whole = View.range(Call->getSourceRange()), Text = View.range(Object->getSourceRange());
  std::optional<Range> Name_ = Member ? View.range(Member->getMemberLoc()) : Text;
  std::optional<Element> What = elementOf(P, Call->getExprLoc());
  if (!What)
    return;
  if (!Whole || !Text || !Name_)
    return Unknown(std::string("this call") + View.whyNoRange(Call->getExprLoc()));
  Site.Whole = *Whole;
  Site.What = *What;
  Site.Object = {Implicit ? Name_->Begin : Text->Begin, Site.Operator ? Text->End : Name_->Begin};
  std::optional<std::vector<Step>> Steps = steps(Path);
  if (!Steps)
    return Unknown(std::string("this call") + View.whyNoRange(Call->getExprLoc()));
  Site.Path = *Steps;
  std::vector<const Expr *> Operands = operands(P);
  for (const Expr *A : argumentsOf(Call)) {
    if ((Site.Operator && A == Call->getArg(0)) || isa<CXXDefaultArgExpr>(A))
      continue;
    Operands.push_back(A);
    std::optional<Range> R = View.range(A->getSourceRange());
    if (!R)
      return Unknown(std::string("this call") + View.whyNoRange(A->getExprLoc()));
    Site.Arguments.push_back(*R);
  }
  if (orderMatters(Operands))
    return Unknown("the order in which the parts of this call are evaluated matters, and would change");
  NodeId Node = Graph.object(Definition, Class);
  Site.Method = Node;
  Facts.Methods.push_back({Definition, Node, P.Node});
  Graph.facts(P.Node).Sites.MemberCalls.push_back(std::move(Site));
}

/// A copy of the element \p E whose type follows the element's: auto, a
/// template's parameter.
bool UseClassifier::typeIsDeduced(const Expr *E) const {
  const VarDecl *Variable = nullptr;
  const Stmt *S = parent(E, &Variable);
  while (S && isa<ImplicitCastExpr, CXXConstructExpr, ExprWithCleanups, MaterializeTemporaryExpr>(S))
    S = parent(cast<Expr>(S), &Variable);
  if (Variable)
    return Variable->getType()->getContainedDeducedType() || isa<DecompositionDecl>(Variable);
  if (const CallExpr *Call = dyn_cast_or_null<CallExpr>(S)) // an assignment too
    return !Call->getDirectCallee() || hasTemplateRival(Call->getDirectCallee());
  return !isa_and_nonnull<MemberExpr>(S);
}

} // namespace restride
