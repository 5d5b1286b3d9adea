// "begin[i + 1] = begin[i] + count(i);" and "begin[i] = total; total += count(i);": what loops add up.
#include "analysis/program/Around.h"
#include "analysis/program/ContainerSize.h"
#include "analysis/program/Evaluate.h"

#include "clang/AST/StmtCXX.h"

#include <cmath>

using namespace clang;

namespace restride {

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
  if (At == Facts.Modified.end() || !AddedUp.insert(V).second) // for (s = 1, i = 0; i < n; i += s) s += 2;
    return std::nullopt;
  double Added = 0;
  bool Known = true;
  for (const DeclRefExpr *Changed : At->second) {
    const std::optional<double> Here = !Known || isCounter(V, Changed, Context) ? std::nullopt : addedBy(Changed, In);
    Known &= Here.has_value();
    Added += Here.value_or(0);
  }
  AddedUp.erase(V);
  if (!Known)
    return std::nullopt;
  Added = std::round(Added / timesDeclared(V));
  return Added >= 1 ? times(Added, {1, true}, Start) : std::nullopt;
}

/// What \p In assigns to elements of \p V, or adds of others of them.
static void collectAssigned(const Stmt *In, const VarDecl *V, std::vector<const BinaryOperator *> &Out) {
  const BinaryOperator *B = dyn_cast<BinaryOperator>(In);
  const bool Sets = B && (B->getOpcode() == BO_Assign || (B->getOpcode() == BO_AddAssign && elementOf(B->getRHS()->IgnoreParenImpCasts()).first == V));
  if (Sets && elementOf(B->getLHS()->IgnoreParens()).first == V)
    Out.push_back(B);
  for (const Stmt *Child : In->children())
    if (Child)
      collectAssigned(Child, V, Out);
}

std::optional<Estimate> Evaluator::lastSum(const VarDecl *V, const Expr *Index, Frame In) const {
  const auto isLast = [&](double Times) {
    if (!Index)
      return true;
    const std::optional<Estimate> Place = integer(Index, In.deeper());
    return Place && double(Place->Value) >= Times - 1;
  };
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
    if (Set->isCompoundAssignmentOp()) { // row[v + 1] += row[v], of what was counted there
      if (const std::optional<double> Sum = countedIn(V, In.deeper()); Sum && isLast(Times))
        return times(*Sum, {1, true}, {0, true});
      continue;
    }
    Summed[V] = 0;
    const std::optional<Estimate> Each = integer(Set->getRHS(), In.deeper());
    const bool Adds = Summed[V] == 1;
    Summed.erase(V);
    if (Each && Adds && isLast(Times))
      return times(Times, *Each, {0, true});
  }
  return std::nullopt;
}

} // namespace restride
