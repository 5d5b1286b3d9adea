// "begin[i + 1] = begin[i] + count(i);" and "begin[i] = total; total += count(i);": what loops add up.
#include "analysis/program/ContainerSize.h"
#include "analysis/program/Evaluate.h"

#include "clang/AST/ParentMapContext.h"

using namespace clang;

namespace restride {

static const Stmt *parentOf(const Stmt *S, ASTContext &Context) {
  auto Parents = Context.getParents(*S);
  return Parents.empty() ? nullptr : Parents[0].get<Stmt>();
}

/// A loop that \p S stands in asks for \p V, which counts its trips then.
static bool isCounter(const VarDecl *V, const Stmt *S, ASTContext &Context) {
  auto mentions = [&](const Stmt *In, auto &Mentions) -> bool {
    const DeclRefExpr *R = dyn_cast_or_null<DeclRefExpr>(In);
    return In && ((R && R->getDecl() == V) || llvm::any_of(In->children(), [&](const Stmt *Child) { return Mentions(Child, Mentions); }));
  };
  for (; S; S = parentOf(S, Context)) {
    const ForStmt *For = dyn_cast<ForStmt>(S);
    const WhileStmt *While = dyn_cast<WhileStmt>(S);
    const DoStmt *Do = dyn_cast<DoStmt>(S);
    if (const Expr *Condition = For ? For->getCond() : While ? While->getCond() : Do ? Do->getCond() : nullptr; Condition && mentions(Condition, mentions))
      return true;
  }
  return false;
}

static bool launches(const Stmt *S) {
  return isa<CUDAKernelCallExpr>(S) || llvm::any_of(S->children(), [](const Stmt *Child) { return Child && launches(Child); });
}

/// Nothing but loops and blocks stands around \p S in its function: it is executed in each trip. And none of these is one
/// of steps, which launch kernels between.
static bool isInEachTrip(const Stmt *S, ASTContext &Context) {
  const Stmt *Outermost = S;
  for (S = parentOf(S, Context); S; S = parentOf(S, Context)) {
    if (!isa<CompoundStmt, ForStmt, CXXForRangeStmt, WhileStmt, DoStmt, ExprWithCleanups>(S))
      return false;
    if (isa<ForStmt, CXXForRangeStmt, WhileStmt, DoStmt>(S))
      Outermost = S;
  }
  return !launches(Outermost);
}

static std::optional<Estimate> times(double Times, Estimate Each, Estimate Start) {
  constexpr double Most = 1e15;
  const double Sum = double(Start.Value) + Times * double(Each.Value);
  return Sum > -Most && Sum < Most ? std::optional(Estimate{int64_t(Sum), true}) : std::nullopt;
}

std::optional<Estimate> Evaluator::addedUp(const VarDecl *V, Estimate Start, Frame In) const {
  const auto At = Facts.Modified.find(V->getLocation().getRawEncoding());
  if (At == Facts.Modified.end() || At->second.size() != 1)
    return std::nullopt;
  const Stmt *Update = parentOf(At->second[0], Context);
  const CompoundAssignOperator *Adds = dyn_cast_or_null<CompoundAssignOperator>(Update);
  if (!Adds || Adds->getOpcode() != BO_AddAssign || Adds->getLHS()->IgnoreParens() != At->second[0] || !isInEachTrip(Adds, Context) || isCounter(V, Adds, Context))
    return std::nullopt;
  bool Counted = true;
  const double Times = timesExecuted(Adds, &Counted);
  const std::optional<Estimate> Each = Counted && Times > 1 ? integer(Adds->getRHS(), In.deeper()) : std::nullopt;
  return Each ? times(Times, *Each, Start) : std::nullopt;
}

/// The array of `array[i]` and the index; nulls: \p E is no such element.
static std::pair<const VarDecl *, const Expr *> elementOf(const Expr *E) {
  const ArraySubscriptExpr *S = dyn_cast<ArraySubscriptExpr>(E);
  const CXXOperatorCallExpr *O = dyn_cast<CXXOperatorCallExpr>(E);
  if (!S && (!O || O->getOperator() != OO_Subscript))
    return {};
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>((S ? S->getBase() : O->getArg(0))->IgnoreParenImpCasts());
  return {R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr, S ? S->getIdx() : O->getArg(1)};
}

/// What \p In assigns to elements of \p V.
static void collectAssigned(const Stmt *In, const VarDecl *V, std::vector<const BinaryOperator *> &Out) {
  const BinaryOperator *B = dyn_cast<BinaryOperator>(In);
  if (B && B->getOpcode() == BO_Assign && elementOf(B->getLHS()->IgnoreParens()).first == V)
    Out.push_back(B);
  for (const Stmt *Child : In->children())
    if (Child)
      collectAssigned(Child, V, Out);
}

std::optional<Estimate> Evaluator::lastSum(const Expr *Element, Frame In) const {
  const auto [V, Index] = elementOf(Element);
  if (!V)
    return std::nullopt;
  if (Summed.count(V)) // the sum so far: what is added to it counts
    return ++Summed[V], Estimate{0, true};
  auto [Sets, New] = AssignedElements.try_emplace(V);
  if (const FunctionDecl *F = dyn_cast_or_null<FunctionDecl>(V->getParentFunctionOrMethod()); New && F && F->getBody())
    collectAssigned(F->getBody(), V, Sets->second);
  for (const BinaryOperator *Set : Sets->second) {
    if (!isInEachTrip(Set, Context))
      continue;
    bool Counted = true;
    const double Times = timesExecuted(Set, &Counted);
    if (!Counted || Times <= 1)
      continue;
    Summed[V] = 0;
    const std::optional<Estimate> Each = integer(Set->getRHS(), In.deeper());
    const bool Adds = Summed[V] == 1;
    Summed.erase(V);
    const std::optional<Estimate> Place = Each && Adds ? integer(Index, In.deeper()) : std::nullopt;
    if (Place && double(Place->Value) >= Times - 1)
      return times(Times, *Each, {0, true});
  }
  return std::nullopt;
}

} // namespace restride
