// "++count[cell];", "row[v + 1]++;", "list[n++] = i;": what the host counts, in the mean of the places that it counts in.

#include "analysis/program/Around.h"
#include "analysis/program/ContainerSize.h"
#include "analysis/program/Evaluate.h"
#include "analysis/program/HostPlaces.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/AST/StmtCXX.h"

#include <cmath>

using namespace clang;

namespace restride {

bool launches(const Stmt *S) {
  return isa<CUDAKernelCallExpr>(S) || llvm::any_of(S->children(), [](const Stmt *Child) { return Child && launches(Child); });
}

double Evaluator::timesDeclared(const DeclaratorDecl *D) const {
  const DeclStmt *Declared = statementOf(D, Context);
  return Declared ? timesExecuted(Declared) : 1;
}

/// "if (d > reach) continue;": the condition; null: \p S is something else.
static const Expr *skipsIf(const Stmt *S) {
  const IfStmt *If = dyn_cast<IfStmt>(S);
  const Stmt *Then = If && !If->getElse() ? If->getThen() : nullptr;
  if (const CompoundStmt *Block = dyn_cast_or_null<CompoundStmt>(Then))
    Then = Block->body_empty() ? nullptr : Block->body_back();
  return isa_and_nonnull<ContinueStmt>(Then) ? If->getCond() : nullptr;
}

double Evaluator::shareSkipped(const Expr *Condition) const {
  const BinaryOperator *B = dyn_cast<BinaryOperator>(Condition->IgnoreParenImpCasts());
  if (B && B->getOpcode() == BO_LOr)
    return 1 - (1 - shareSkipped(B->getLHS())) * (1 - shareSkipped(B->getRHS()));
  const bool IsPlace = B && B->isRelationalOp() && isa<DeclRefExpr>(B->getLHS()->IgnoreParenImpCasts()) && B->getLHS()->getType()->isIntegerType();
  const double Share = probability(Condition, true);
  return IsPlace && Share < 1 ? 0 : Share;
}

double Evaluator::shareTaken(const Stmt *S, const Stmt *In) const {
  double Share = 1;
  const Stmt *Child = S;
  goOutward(S, Context, [&](const DynTypedNode &Node) {
    const Stmt *Up = Node.get<Stmt>();
    if (const IfStmt *If = dyn_cast_or_null<IfStmt>(Up))
      Share *= If->getThen() == Child ? probability(If->getCond(), true) : If->getElse() == Child ? 1 - probability(If->getCond(), true) : 1;
    if (const CompoundStmt *Block = dyn_cast_or_null<CompoundStmt>(Up))
      for (const Stmt *Before : Block->body()) {
        if (Before == Child)
          break;
        if (const Expr *Condition = skipsIf(Before))
          Share *= 1 - shareSkipped(Condition);
      }
    Child = Up ? Up : Child;
    return !Node.get<FunctionDecl>() && !Node.get<LambdaExpr>() && !(Up && Up == In);
  });
  return Share;
}

std::optional<double> Evaluator::timesChanged(const Expr *Update) const {
  bool Plain = true;
  goOutward(Update, Context, [&](const DynTypedNode &Node) {
    const Stmt *Up = Node.get<Stmt>();
    const BinaryOperator *B = dyn_cast_or_null<BinaryOperator>(Up);
    Plain &= !isa_and_nonnull<LambdaExpr, ConditionalOperator, SwitchStmt, CXXCatchStmt>(Up) && !(B && B->isLogicalOp());
    return Plain;
  });
  const llvm::SmallVector<const Stmt *, 4> Loops = loopsAround(Update, Context);
  if (!Plain || (!Loops.empty() && launches(Loops.back()))) // steps, and not what is there before them
    return std::nullopt;
  bool Counted = true;
  const double Times = timesExecuted(Update, &Counted);
  return Counted ? std::optional(Times * shareTaken(Update)) : std::nullopt;
}

std::optional<double> Evaluator::addedBy(const Expr *Changed, Frame In) const {
  const Stmt *Up = parentOf(Changed, Context);
  while (isa_and_nonnull<ParenExpr>(Up))
    Up = parentOf(Up, Context);
  const UnaryOperator *Counts = dyn_cast_or_null<UnaryOperator>(Up);
  const CompoundAssignOperator *Adds = dyn_cast_or_null<CompoundAssignOperator>(Up);
  if (Adds && (Adds->getOpcode() != BO_AddAssign || Adds->getLHS()->IgnoreParens() != Changed->IgnoreParens()))
    return std::nullopt;
  if (!Adds && !(Counts && Counts->isIncrementOp()))
    return std::nullopt;
  const std::optional<double> Times = timesChanged(cast<Expr>(Up));
  const std::optional<Estimate> Each = !Times ? std::nullopt : Counts ? Estimate{1} : integer(Adds->getRHS(), In.deeper());
  return Each ? std::optional(*Times * double(Each->Value)) : std::nullopt;
}

std::pair<const VarDecl *, const Expr *> elementOf(const Expr *E) {
  const ArraySubscriptExpr *S = dyn_cast<ArraySubscriptExpr>(E);
  const CXXOperatorCallExpr *O = dyn_cast<CXXOperatorCallExpr>(E);
  if (!S && (!O || O->getOperator() != OO_Subscript || O->getNumArgs() != 2))
    return {};
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>((S ? S->getBase() : O->getArg(0))->IgnoreParenImpCasts());
  return {R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr, S ? S->getIdx() : O->getArg(1)};
}

static bool namesElement(const Stmt *In, const VarDecl *V) {
  const Expr *E = dyn_cast<Expr>(In);
  return (E && elementOf(E).first == V) || llvm::any_of(In->children(), [&](const Stmt *Child) { return Child && namesElement(Child, V); });
}

/// Elements of \p V that \p In changes by what they were, but for sums of themselves.
static void collectCounted(const Stmt *In, const VarDecl *V, std::vector<const Expr *> &Out) {
  const UnaryOperator *U = dyn_cast<UnaryOperator>(In);
  const CompoundAssignOperator *A = dyn_cast<CompoundAssignOperator>(In);
  const Expr *Changed = U && U->isIncrementDecrementOp() ? U->getSubExpr() : A && !namesElement(A->getRHS(), V) ? A->getLHS() : nullptr;
  if (Changed && elementOf(Changed->IgnoreParens()).first == V)
    Out.push_back(Changed);
  for (const Stmt *Child : In->children())
    if (Child)
      collectCounted(Child, V, Out);
}

std::optional<double> Evaluator::countedIn(const VarDecl *V, Frame In) const {
  const FunctionDecl *F = dyn_cast_or_null<FunctionDecl>(V->getParentFunctionOrMethod());
  if (!F || !F->getBody() || In.Depth > MaxDepth || !Measured.insert(V).second)
    return std::nullopt;
  auto [Counts, New] = CountedElements.try_emplace(V);
  if (New)
    collectCounted(F->getBody(), V, Counts->second);
  std::optional<double> Sum;
  for (const Expr *Changed : Counts->second)
    if (const std::optional<double> Added = addedBy(Changed, In.deeper()))
      Sum = Sum.value_or(0) + *Added;
    else { // a cursor that goes back, say
      Sum.reset();
      break;
    }
  Measured.erase(V);
  return Sum ? std::optional(*Sum / timesDeclared(V)) : std::nullopt;
}

/// The container that \p Object is an element of, by itself or by a reference to one; null: of none that is plain to see.
static const ValueDecl *containerAround(const Expr *Object) {
  Object = Object->IgnoreParenImpCasts();
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>(Object);
  const VarDecl *Reference = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
  if (Reference && Reference->getType()->isReferenceType() && Reference->isLocalVarDecl() && Reference->getInit())
    Object = Reference->getInit()->IgnoreParenImpCasts();
  const CXXOperatorCallExpr *O = dyn_cast<CXXOperatorCallExpr>(Object);
  return O && O->getOperator() == OO_Subscript ? containerOf(O->getArg(0)) : nullptr;
}

std::optional<Estimate> Evaluator::perElement(double Sum, const ValueDecl *Container, Frame In) const {
  const std::optional<Estimate> Elements = containerSize(Container, In.deeper());
  return Elements && Elements->Value > 0 ? std::optional(Estimate{std::llround(Sum / double(Elements->Value)), Doubt::Changes}) : std::nullopt;
}

std::optional<Estimate> Evaluator::meanCount(const FieldDecl *F, Frame In) const {
  const auto Changes = Facts.MemberChanges.find(F->getLocation().getRawEncoding());
  const ValueDecl *Array = nullptr;
  double Sum = 0;
  for (const Expr *Changed : Changes == Facts.MemberChanges.end() ? std::vector<const Expr *>() : Changes->second) {
    if (const FunctionDecl *Around = functionAround(Changed, Context); Around && !runsOnHost(Around))
      continue; // goes on from what the host has counted
    const MemberExpr *M = dyn_cast<MemberExpr>(Changed);
    const ValueDecl *Here = M && !M->isArrow() ? containerAround(M->getBase()) : nullptr;
    const std::optional<double> Added = Here && (!Array || Here == Array) ? addedBy(Changed, In.deeper()) : std::nullopt;
    if (!Added)
      return std::nullopt;
    Array = Here;
    Sum += *Added;
  }
  return Array ? perElement(Sum, Array, In) : std::nullopt;
}

std::optional<Estimate> Evaluator::meanCount(const Expr *Element, Frame In) const {
  const VarDecl *V = elementOf(Element).first;
  const std::optional<double> Sum = V && isContainer(V->getType()) ? countedIn(V, In) : std::nullopt;
  return Sum ? perElement(*Sum, V, In) : std::nullopt;
}

} // namespace restride
