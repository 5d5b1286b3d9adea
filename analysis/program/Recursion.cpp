// "if (depth < 12 && rand() % 8) { build(nodes, depth + 1); build(nodes, depth + 1); }": how many
// calls a recursion makes that counts its levels, or divides a range, "build(from, middle); build(middle, to);".
#include "analysis/program/Evaluate.h"
#include "analysis/program/Around.h"

#include "clang/AST/ParentMapContext.h"

#include <algorithm>

using namespace clang;

namespace restride {

namespace {

/// The condition of a branch, and whether the call is made where it holds.
struct Guard {
  const Expr *Condition;
  bool Holds;
};

/// `depth`, `depth + 1`: by how much an argument is more than the parameter \p P that it is given to.
std::optional<int64_t> stepOf(const Expr *Argument, const ParmVarDecl *P, const ASTContext &Context) {
  Argument = Argument->IgnoreParenImpCasts();
  const BinaryOperator *B = dyn_cast<BinaryOperator>(Argument);
  const Expr *Base = B && B->isAdditiveOp() ? B->getLHS()->IgnoreParenImpCasts() : Argument;
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>(Base);
  if (!R || R->getDecl() != P)
    return std::nullopt;
  if (Base == Argument)
    return 0;
  const std::optional<llvm::APSInt> By = B->getRHS()->getIntegerConstantExpr(Context);
  if (!By || By->getSignificantBits() > 32)
    return std::nullopt;
  return B->getOpcode() == BO_Sub ? -By->getExtValue() : By->getExtValue();
}

bool returns(const Stmt *S) {
  if (const CompoundStmt *C = dyn_cast_or_null<CompoundStmt>(S))
    return !C->body_empty() && isa<ReturnStmt>(C->body_back());
  return isa_and_nonnull<ReturnStmt>(S);
}

/// What decides whether \p Call is made: branches around it, and those in front of them that return.
std::vector<Guard> guardsOf(const CallExpr *Call, ASTContext &Context) {
  std::vector<Guard> Out;
  const Stmt *Child = Call;
  goOutward(Call, Context, [&](const DynTypedNode &Node) {
    const Stmt *Parent = Node.get<Stmt>();
    if (const IfStmt *If = dyn_cast_or_null<IfStmt>(Parent); If && (If->getThen() == Child || If->getElse() == Child))
      Out.push_back({If->getCond(), If->getThen() == Child});
    if (const CompoundStmt *Block = dyn_cast_or_null<CompoundStmt>(Parent))
      for (const Stmt *Before : Block->body()) {
        if (Before == Child)
          break;
        if (const IfStmt *If = dyn_cast<IfStmt>(Before); If && !If->getElse() && returns(If->getThen()))
          Out.push_back({If->getCond(), false});
      }
    Child = Parent;
    return true;
  });
  return Out;
}

} // namespace

/// Of conditions of which no more is known.
static constexpr double Even = 0.5;
/// Of two numbers that change being equal, or beyond a bound.
static constexpr double Seldom = 0.02;

double Evaluator::probability(const Expr *E, bool AnyTrip) const {
  E = E->IgnoreParenImpCasts();
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E); U && U->getOpcode() == UO_LNot)
    return 1 - probability(U->getSubExpr(), AnyTrip);
  const BinaryOperator *B = dyn_cast<BinaryOperator>(E);
  if (B && B->getOpcode() == BO_LAnd)
    return probability(B->getLHS(), AnyTrip) * probability(B->getRHS(), AnyTrip);
  if (B && B->getOpcode() == BO_LOr)
    return 1 - (1 - probability(B->getLHS(), AnyTrip)) * (1 - probability(B->getRHS(), AnyTrip));
  // x % 8, x % 8 == 3, x % 8 < 3, x & 7: any remainder is as probable as the others.
  const BinaryOperator *Rest = B && B->isComparisonOp() ? dyn_cast<BinaryOperator>(B->getLHS()->IgnoreParenImpCasts()) : B;
  if (Rest && Rest->getOpcode() != BO_Rem && Rest->getOpcode() != BO_And)
    Rest = nullptr;
  const std::optional<Estimate> Divided = Rest ? integer(Rest->getLHS()) : std::nullopt;
  if (Rest && (!Divided || (AnyTrip && Divided->Assumed.changes()))) {
    std::optional<Estimate> Kinds = integer(Rest->getRHS());
    const std::optional<Estimate> With = B == Rest ? Estimate{0} : integer(B->getRHS());
    if (Kinds && Rest->getOpcode() == BO_And) // ones from the lowest bit on, or any one
      Kinds->Value = Kinds->Value > 0 && llvm::isMask_64(uint64_t(Kinds->Value)) ? Kinds->Value + 1 : 2;
    if (!Kinds || Kinds->Value < 1 || !With)
      return Even;
    const double Count = double(Kinds->Value), Below = std::clamp(double(With->Value) / Count, 0.0, 1.0);
    switch (B == Rest ? BO_NE : B->getOpcode()) {
    case BO_EQ:
      return 1 / Count;
    case BO_NE:
      return 1 - 1 / Count;
    case BO_LT:
    case BO_LE:
      return Below;
    default:
      return 1 - Below;
    }
  }
  const std::optional<Estimate> Value = integer(E);
  if (AnyTrip && Value && Value->Assumed.changes()) // x + 1 < width, other != self: mostly so
    return !B || !B->isComparisonOp() ? Even : B->getOpcode() == BO_EQ ? Seldom : 1 - Seldom;
  return Value ? double(Value->Value != 0) : Even;
}

std::optional<double> Evaluator::callsInRecursion(const FunctionDecl *F) const {
  constexpr unsigned MostLevels = 64;
  constexpr double MostCalls = 1e9, Few = 1e-3;
  std::vector<const CallExpr *> Own, Others;
  if (const auto At = Facts.CallsOf.find(F); At != Facts.CallsOf.end())
    for (const CallExpr *C : At->second)
      (functionAround(C, Context) == F ? Own : Others).push_back(C);
  if (Own.empty())
    return 1;
  if (Others.empty() || llvm::any_of(Own, [&](const CallExpr *C) { return !loopsAround(C, Context).empty(); }))
    return std::nullopt;
  Counters Now, Steps; // of the parameters that change by a step
  Counters Given;      // and of all that are known
  for (const ParmVarDecl *P : F->parameters()) {
    if (!P->getType()->isIntegerType() || Facts.Modified.count(P->getLocation().getRawEncoding()))
      continue;
    const unsigned I = P->getFunctionScopeIndex();
    const std::optional<Estimate> First = integer(Others[0]->getArg(I));
    if (!First)
      continue;
    Given[P] = *First;
    std::optional<int64_t> Step = stepOf(Own[0]->getArg(I), P, Context);
    for (const CallExpr *C : Own)
      if (stepOf(C->getArg(I), P, Context) != Step)
        Step.reset();
    if (!Step)
      continue;
    Now[P] = *First;
    if (*Step)
      Steps[P] = {*Step};
  }
  const bool Divides = Steps.empty(); // the first of the calls then stands for the others
  if (Divides)
    Now = std::move(Given);
  double Reached = 1, Calls = 1;
  for (unsigned Level = 0; Level < MostLevels; ++Level) {
    AtTrip Here(*this, Now);
    double Next = 0;
    for (const CallExpr *C : Own) {
      double Made = 1;
      for (const Guard &G : guardsOf(C, Context))
        Made *= G.Holds ? probability(G.Condition) : 1 - probability(G.Condition);
      Next += Made;
    }
    Reached *= Next;
    Calls += Reached;
    if (Reached < Few || Calls > MostCalls)
      return Calls > MostCalls ? std::nullopt : std::optional(Calls);
    for (const auto &[P, Step] : Steps)
      Now[P].Value += Step.Value;
    if (!Divides)
      continue;
    Counters After;
    for (const auto &[V, Value] : Now)
      if (const std::optional<Estimate> Next = integer(Own[0]->getArg(cast<ParmVarDecl>(V)->getFunctionScopeIndex())))
        After[V] = *Next;
    Now = std::move(After);
    if (Now.empty())
      return std::nullopt;
  }
  return std::nullopt;
}

} // namespace restride
