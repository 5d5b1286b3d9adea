// How often the host's loops run what is in them.

#include "analysis/program/Around.h"
#include "analysis/program/ContainerSize.h"
#include "analysis/program/Evaluate.h"

#include "clang/AST/ASTLambda.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/AST/StmtCXX.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

using namespace clang;

namespace restride {

/// `for (int i = a; i < b; i += c)`, or `for (i = a; ...)`: what i is first.
static const Expr *firstValue(const ForStmt *For, const VarDecl *V) {
  if (const DeclStmt *D = dyn_cast_or_null<DeclStmt>(For->getInit()); D && llvm::is_contained(D->decls(), V))
    return V->getInit();
  const BinaryOperator *B = dyn_cast_or_null<BinaryOperator>(For->getInit());
  const DeclRefExpr *R = B && B->getOpcode() == BO_Assign ? dyn_cast<DeclRefExpr>(B->getLHS()->IgnoreParens()) : nullptr;
  return R && R->getDecl() == V ? B->getRHS() : nullptr;
}

/// What the counter \p V moves by in each trip.
static std::optional<int64_t> step(const Expr *Inc, const VarDecl *V, const Evaluator &Values) {
  const BinaryOperator *Both = dyn_cast_or_null<BinaryOperator>(Inc); // ++k, ++i
  if (Both && Both->getOpcode() == BO_Comma)
    for (const Expr *Part : {Both->getLHS(), Both->getRHS()})
      if (const std::optional<int64_t> Here = step(Part, V, Values))
        return Here;
  auto IsCounter = [&](const Expr *E) {
    const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E->IgnoreParenImpCasts());
    return R && R->getDecl() == V;
  };
  if (const UnaryOperator *U = dyn_cast_or_null<UnaryOperator>(Inc); U && U->isIncrementDecrementOp() && IsCounter(U->getSubExpr()))
    return U->isIncrementOp() ? 1 : -1;
  const BinaryOperator *B = dyn_cast_or_null<BinaryOperator>(Inc);
  if (!B || !IsCounter(B->getLHS()) || (B->getOpcode() != BO_AddAssign && B->getOpcode() != BO_SubAssign))
    return std::nullopt;
  std::optional<Estimate> By = Values.integer(B->getRHS());
  return By ? std::optional(B->getOpcode() == BO_AddAssign ? By->Value : -By->Value) : std::nullopt;
}

/// Of `i < std::min(n, first + 16)`, which has temporaries, too; null: \p Condition is none, or nothing else.
static const BinaryOperator *comparisonIn(const Expr *Condition) { return Condition ? dyn_cast<BinaryOperator>(withoutCleanups(Condition)) : nullptr; }

std::optional<Evaluator::CountedLoop> Evaluator::countedLoop(const ForStmt *For) const {
  const BinaryOperator *Condition = comparisonIn(For->getCond());
  if (!Condition || !Condition->isComparisonOp() || Condition->getOpcode() == BO_EQ || Condition->getOpcode() == BO_Cmp)
    return std::nullopt;
  auto Variable = [](const Expr *E) {
    const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E->IgnoreParenImpCasts());
    return R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
  };
  const Expr *Limit = Condition->getRHS(), *Ahead = nullptr;
  const VarDecl *V = Variable(Condition->getLHS());
  const BinaryOperator *Sum = dyn_cast<BinaryOperator>(Condition->getLHS()->IgnoreParenImpCasts());
  if (!V && Sum && Sum->getOpcode() == BO_Add) { // i + 1 < n
    V = Variable(Sum->getLHS());
    Ahead = Sum->getRHS();
  }
  const Expr *Start = V ? firstValue(For, V) : nullptr;
  if (!Start) { // n > i
    Ahead = nullptr;
    Limit = Condition->getLHS();
    V = Variable(Condition->getRHS());
    Start = V ? firstValue(For, V) : nullptr;
  }
  if (!Start)
    return std::nullopt;
  std::optional<Estimate> From = integer(Start), To = integer(Limit);
  std::optional<int64_t> By = step(For->getInc(), V, *this);
  if (!From || !To || !By || !*By || (Ahead && Variable(Ahead) == V))
    return std::nullopt;
  if (Ahead) {
    std::optional<Estimate> More = integer(Ahead);
    if (!More)
      return std::nullopt;
    To->Value -= More->Value;
  }
  const bool Includes = Condition->getOpcode() == BO_LE || Condition->getOpcode() == BO_GE;
  const double Distance = (double(To->Value) - double(From->Value)) * (*By < 0 ? -1 : 1) + Includes;
  return CountedLoop{V, From->Value, *By, uint64_t(std::max(0.0, std::ceil(Distance / std::abs(double(*By)))))};
}

/// \p V as a name, on whichever side of the comparison \p B; null: on none.
static const Expr *limitOf(const BinaryOperator *B, const VarDecl *&V) {
  for (const bool Mirrored : {false, true}) {
    const DeclRefExpr *R = dyn_cast<DeclRefExpr>((Mirrored ? B->getRHS() : B->getLHS())->IgnoreParenImpCasts());
    V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
    if (V && V->hasLocalStorage() && !isa<ParmVarDecl>(V) && V->getInit())
      return Mirrored ? B->getLHS() : B->getRHS();
  }
  return nullptr;
}

std::optional<double> Evaluator::tripsByBody(const Expr *Condition, const Stmt *Body) const {
  const BinaryOperator *B = comparisonIn(Condition);
  const VarDecl *V = nullptr;
  const Expr *Limit = B && B->isRelationalOp() ? limitOf(B, V) : nullptr;
  const auto Changes = Limit ? Facts.Modified.find(V->getLocation().getRawEncoding()) : Facts.Modified.end();
  if (Changes == Facts.Modified.end())
    return std::nullopt;
  double By = 0; // in the mean trip
  for (const DeclRefExpr *R : Changes->second) {
    bool Inside = false;
    goOutward(R, Context, [&](const DynTypedNode &Node) { return !(Inside |= Node.get<Stmt>() == Body); });
    if (!Inside)
      continue;
    const std::optional<int64_t> Here = step(dyn_cast_or_null<Expr>(parentOf(R, Context)), V, *this);
    const llvm::SmallVector<const Stmt *, 4> Loops = loopsAround(R, Context);
    const auto Own = llvm::find_if(Loops, [&](const Stmt *Loop) { return llvm::is_contained(Loop->children(), Body); });
    bool Counted = Here && Own != Loops.end();
    if (Counted)
      By += double(*Here) * timesAround(llvm::ArrayRef(Loops.begin(), Own), Counted) * shareTaken(R, Body);
    if (!Counted)
      return std::nullopt;
  }
  const std::optional<Estimate> From = integer(V->getInit()), To = integer(Limit);
  if (By == 0 || !From || !To)
    return std::nullopt;
  const double Trips = (double(To->Value) - double(From->Value)) / By;
  return Trips >= 1 ? std::optional(std::ceil(Trips)) : std::nullopt;
}

double Evaluator::tripsOf(const Stmt *Loop, bool &Counted) const {
  auto unknown = [&] {
    Counted = false;
    return UnknownLoopTrips;
  };
  if (const ForStmt *For = dyn_cast<ForStmt>(Loop)) {
    const std::optional<CountedLoop> Count = countedLoop(For);
    const std::optional<double> ByBody = Count || For->getInc() ? std::nullopt : tripsByBody(For->getCond(), For->getBody());
    return Count ? double(Count->Trips) : ByBody ? *ByBody : unknown();
  }
  if (const CXXForRangeStmt *Range = dyn_cast<CXXForRangeStmt>(Loop)) {
    const std::optional<double> Trips = tripsOver(Range->getRangeInit());
    return Trips ? *Trips : unknown();
  }
  if (const WhileStmt *While = dyn_cast<WhileStmt>(Loop)) {
    std::optional<double> Trips = tripsToFill(While);
    if (!Trips)
      Trips = tripsByBody(While->getCond(), While->getBody());
    return Trips ? *Trips : unknown();
  }
  return unknown();
}

/// A counter in trip \p Trip, from 0 on.
static Estimate inTrip(const Evaluator::CountedLoop &L, uint64_t Trip) {
  return {int64_t(uint64_t(L.First) + uint64_t(L.Step) * Trip), Doubt::Default}; // wraps instead of overflowing
}

double Evaluator::timesAround(llvm::ArrayRef<const Stmt *> Loops, bool &Counted) const {
  if (Loops.empty())
    return 1;
  const Stmt *Outer = Loops.back();
  const llvm::ArrayRef<const Stmt *> Inner = Loops.drop_back();
  const ForStmt *For = Inner.empty() || !SamplesLeft ? nullptr : dyn_cast<ForStmt>(Outer);
  const std::optional<CountedLoop> Count = For ? countedLoop(For) : std::nullopt;
  constexpr int64_t MostTrips = int64_t(1) << 40, LargestStep = 1 << 20; // counters that do not overflow
  if (!Count || Count->Trips <= 1 || Count->Trips >= uint64_t(MostTrips) || std::abs(double(Count->First)) >= MostTrips || std::abs(double(Count->Step)) >= LargestStep) {
    const double Trips = tripsOf(Outer, Counted);
    return Trips * timesAround(Inner, Counted);
  }
  // In the mean of a few trips of the outermost, and in the middle of others': loops inside may depend on the counter.
  const unsigned Samples = Sampled.empty() ? 8 : 1;
  double Times = 0;
  for (unsigned I = 0; I < Samples; ++I) {
    SamplesLeft -= SamplesLeft > 0;
    Counters Now = Sampled;
    Now[Count->Counter] = inTrip(*Count, Count->Trips * (2 * I + 1) / (2 * Samples));
    AtTrip In(*this, std::move(Now));
    Times += timesAround(Inner, Counted) * double(Count->Trips) / Samples;
  }
  return Times;
}

double Evaluator::timesExecuted(const Stmt *S, bool *Counted) const {
  bool All = true;
  const double Times = timesAround(loopsAround(S, Context), All);
  if (Counted)
    *Counted &= All;
  return std::max(1.0, Times);
}

double Evaluator::timesInFunction(const Stmt *S, bool &Counted, unsigned Depth) const {
  constexpr unsigned MostLambdas = 8;
  const double Times = timesExecuted(S, &Counted) * shareTaken(S);
  const CXXMethodDecl *M = dyn_cast_or_null<CXXMethodDecl>(functionAround(S, Context));
  if (!M || !isLambdaCallOperator(M))
    return Times;
  const auto At = Facts.CallsOf.find(M);
  if (At == Facts.CallsOf.end() || Depth > MostLambdas) {
    Counted = false;
    return Times;
  }
  double Calls = 0;
  for (const CallExpr *C : At->second)
    Calls += timesInFunction(C, Counted, Depth + 1);
  return Times * Calls;
}

double Evaluator::callsInLife(const FunctionDecl *F, bool &Counted) const {
  const CXXMethodDecl *Method = dyn_cast_or_null<CXXMethodDecl>(F);
  const auto At = F ? Facts.CallsOf.find(F) : Facts.CallsOf.end();
  if (At == Facts.CallsOf.end() || (Method && isLambdaCallOperator(Method))) // main, a constructor, nobody is seen, or timesInFunction() has it
    return 1;
  // Until it is known it is not counted: functions may call each other.
  if (const auto [Known, New] = CalledInLife.try_emplace(F, std::nullopt); !New) {
    Counted &= Known->second.has_value();
    return Known->second.value_or(1);
  }
  bool All = true;
  double Calls = 0;
  std::set<const ValueDecl *> Objects;
  for (const CallExpr *C : At->second) {
    const CXXMemberCallExpr *M = dyn_cast<CXXMemberCallExpr>(C);
    const ValueDecl *Object = M ? namedBy(M->getImplicitObjectArgument()) : nullptr;
    const VarDecl *V = dyn_cast_or_null<VarDecl>(Object);
    const double Times = timesInFunction(C, All);
    Calls += Object ? Times / (V ? timesDeclared(V) : 1) : Times * callsInLife(functionAround(C, Context), All);
    if (Object)
      Objects.insert(Object);
  }
  Calls = std::max(1.0, Calls / double(std::max<size_t>(1, Objects.size())));
  CalledInLife[F] = All ? std::optional(Calls) : std::nullopt;
  Counted &= All;
  return Calls;
}

double Evaluator::timesInLife(const Stmt *S, const ValueDecl *Container, bool &Counted) const {
  const VarDecl *V = dyn_cast<VarDecl>(Container);
  const auto Changes = Facts.Resized.find(Container->getLocation().getRawEncoding());
  const bool IsCleared = Changes != Facts.Resized.end() && llvm::any_of(Changes->second, clears);
  const double Times = timesInFunction(S, Counted);
  return (V && V->hasLocalStorage()) || IsCleared ? Times : Times * callsInLife(functionAround(S, Context), Counted);
}

/// \p V is part of an index in \p S, or in what its variables are initialised with.
static bool looksUpBy(const Stmt *S, const VarDecl *V, bool InIndex, unsigned Depth) {
  constexpr unsigned MaxDepth = 32;
  if (Depth > MaxDepth)
    return false;
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(S)) {
    const VarDecl *Here = dyn_cast<VarDecl>(R->getDecl());
    if (Here == V)
      return InIndex;
    return Here && Here->isLocalVarDecl() && Here->getInit() && looksUpBy(Here->getInit(), V, InIndex, Depth + 1);
  }
  const ArraySubscriptExpr *Of = dyn_cast<ArraySubscriptExpr>(S);
  const CXXOperatorCallExpr *Call = dyn_cast<CXXOperatorCallExpr>(S);
  const Expr *Index = Of ? Of->getIdx() : Call && Call->getOperator() == OO_Subscript && Call->getNumArgs() == 2 ? Call->getArg(1) : nullptr;
  return llvm::any_of(S->children(), [&](const Stmt *Child) { return Child && looksUpBy(Child, V, InIndex || Child == Index, Depth + 1); });
}

double Evaluator::partsOf(const Expr *Size, const Stmt *S) const {
  double Parts = 1;
  goOutward(S, Context, [&](const DynTypedNode &Node) {
    const ForStmt *For = Node.get<ForStmt>();
    const DeclStmt *Init = For ? dyn_cast_or_null<DeclStmt>(For->getInit()) : nullptr;
    const VarDecl *Counter = Init && Init->isSingleDecl() ? dyn_cast<VarDecl>(Init->getSingleDecl()) : nullptr;
    if (!Counter || !looksUpBy(Size, Counter, false, 0))
      return !Node.get<FunctionDecl>();
    const std::optional<CountedLoop> Loop = countedLoop(For);
    Parts = Loop && Loop->Trips > 1 ? double(Loop->Trips) : UnknownLoopTrips;
    return false;
  });
  return Parts;
}

double Evaluator::timesCalled(const FunctionDecl *F) const {
  const auto At = F ? Facts.CallsOf.find(F) : Facts.CallsOf.end();
  if (At == Facts.CallsOf.end()) // main, or nobody is seen
    return 1;
  if (auto [Known, New] = Called.try_emplace(F, 1); !New) // also where it calls itself
    return Known->second;
  constexpr double Most = 1e12;
  double Times = 0;
  for (const CallExpr *C : At->second)
    Times += timesInAllCalls(C);
  return Called[F] = std::min(Most, Times);
}

double Evaluator::timesInAllCalls(const Stmt *S) const {
  constexpr double Least = 0.02; // with other arguments than those that are assumed
  return timesExecuted(S) * std::max(Least, shareTaken(S)) * timesCalled(functionAround(S, Context));
}

Evaluator::Counters Evaluator::midTrip(const Stmt *S) const {
  Counters Out;
  constexpr unsigned MostFunctions = 16;
  for (unsigned Depth = 0; S && Depth < MostFunctions; ++Depth) {
    for (const Stmt *Loop : loopsAround(S, Context))
      if (const ForStmt *For = dyn_cast<ForStmt>(Loop))
        if (const std::optional<CountedLoop> Count = countedLoop(For); Count && Count->Trips > 1)
          Out[Count->Counter] = inTrip(*Count, Count->Trips / 2);
    const auto Calls = Facts.CallsOf.find(functionAround(S, Context));
    S = Calls != Facts.CallsOf.end() && Calls->second.size() == 1 ? Calls->second.front() : nullptr;
  }
  return Out;
}

} // namespace restride
