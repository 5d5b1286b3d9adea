#include "analysis/program/IndexOrigin.h"

#include "analysis/program/ContainerSize.h"
#include "analysis/program/Draws.h"
#include "analysis/program/FillFormula.h"
#include "analysis/program/HostPlaces.h"
#include "analysis/program/Returned.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace restride {

namespace {

class OriginReader {
public:
  OriginReader(const HostWrites &Host, const Evaluator &Values, const UnitFacts &Facts, ASTContext &Context)
      : Host(Host), Values(Values), Facts(Facts), Context(Context) {}

  IndexOrigin member(const FieldDecl *F) {
    auto At = Facts.MemberValues.find(F->getLocation().getRawEncoding());
    if (At == Facts.MemberValues.end() || !Active.insert(F).second)
      return IndexOrigin::Unclear;
    const IndexOrigin Out = all(At->second, 0);
    Active.erase(F);
    return Out;
  }

  IndexOrigin all(llvm::ArrayRef<const Expr *> Of) { return all(Of, 0); }

private:
  using Origin = IndexOrigin;
  static constexpr unsigned MaxDepth = 24, MaxSteps = 4000;

  /// What one thing is that is now the one and now the other.
  static Origin either(Origin A, Origin B) {
    if (A == Origin::Constant || A == B)
      return B;
    return B == Origin::Constant ? A : Origin::Unclear;
  }
  /// What is computed from both.
  static Origin both(Origin A, Origin B) { return std::max(A, B); }

  Origin all(llvm::ArrayRef<const Expr *> Of, unsigned Depth) {
    Origin Out = Origin::Constant;
    for (const Expr *E : Of)
      Out = either(Out, origin(E, Depth + 1));
    return Out;
  }

  /// A number below a small one: it moves a place by little.
  bool isSmall(const Expr *E) const {
    constexpr int64_t Small = 4096;
    const BinaryOperator *B = dyn_cast<BinaryOperator>(E->IgnoreParenCasts());
    if (!B || (B->getOpcode() != BO_Rem && B->getOpcode() != BO_And))
      return false;
    const std::optional<Estimate> Bound = Values.integer(B->getRHS());
    return Bound && Bound->Value <= Small;
  }

  Origin sum(const BinaryOperator *B, unsigned Depth) {
    const Origin L = origin(B->getLHS(), Depth + 1), R = origin(B->getRHS(), Depth + 1);
    if (L == Origin::Counted && R == Origin::Drawn && isSmall(B->getRHS()))
      return L;
    if (R == Origin::Counted && L == Origin::Drawn && isSmall(B->getLHS()))
      return R;
    if (std::min(L, R) == Origin::Counted && std::max(L, R) == Origin::Drawn && B->getType()->isFloatingType()) // a lattice's place, moved
      return isMovedByLittle(L == Origin::Counted ? B->getLHS() : B->getRHS(), L == Origin::Counted ? B->getRHS() : B->getLHS()) ? Origin::Counted : Origin::Unclear;
    return both(L, R);
  }

  /// From its place on a lattice to others near it.
  bool isMovedByLittle(const Expr *Place, const Expr *By) {
    constexpr double Places = 4;
    const std::optional<double> Step = reach(Place, 0), Far = reach(By, 0);
    return Step && Far && *Far <= Places * *Step;
  }

  /// How far \p E goes where a counter steps by one, or what is drawn comes out anew.
  std::optional<double> reach(const Expr *E, unsigned Depth) {
    E = E->IgnoreUnlessSpelledInSource()->IgnoreParenCasts();
    const Origin Which = Depth > MaxDepth ? Origin::Unclear : origin(E, 0);
    if (Which == Origin::Unclear)
      return std::nullopt;
    if (Which == Origin::Constant) {
      const std::optional<RealEstimate> Known = Values.real(E);
      return Known ? std::optional(std::abs(Known->Value)) : std::nullopt;
    }
    const bool Whole = E->getType()->isIntegerType();
    if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E))
      return reach(U->getSubExpr(), Depth + 1);
    if (const BinaryOperator *B = dyn_cast<BinaryOperator>(E))
      return reachOf(B, Whole, Which, Depth);
    const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E);
    const VarDecl *V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
    if (V && V->getInit() && !isCounter(V))
      return reach(V->getInit(), Depth + 1);
    if (Whole)
      return Which == Origin::Counted ? std::optional(1.0) : std::nullopt;
    const CallExpr *C = dyn_cast<CallExpr>(E);
    if (!C || Which != Origin::Drawn)
      return std::nullopt;
    std::optional<double> Out; // uniform(-0.1f, 0.1f); without bounds, from 0 to 1
    for (const Expr *A : argumentsOf(C))
      if (const std::optional<RealEstimate> Bound = A->getType()->isRealFloatingType() ? Values.real(A) : std::nullopt)
        Out = std::max(Out.value_or(0), std::abs(Bound->Value));
    return Out.value_or(1);
  }

  std::optional<double> reachOf(const BinaryOperator *B, bool Whole, Origin Which, unsigned Depth) {
    const std::optional<double> L = reach(B->getLHS(), Depth + 1), R = reach(B->getRHS(), Depth + 1);
    if (!L || !R)
      return Whole && Which == Origin::Drawn && B->getOpcode() == BO_Rem ? R : std::nullopt;
    switch (B->getOpcode()) {
    case BO_Add:
    case BO_Sub: // constants move all alike
      return std::max(origin(B->getLHS(), 0) == Origin::Constant ? 0 : *L, origin(B->getRHS(), 0) == Origin::Constant ? 0 : *R);
    case BO_Mul:
      return *L * *R;
    case BO_Div: // whole ones: a row, when it is full
      return Whole ? L : *R > 0 ? std::optional(*L / *R) : std::nullopt;
    case BO_Rem:
    case BO_And:
      return L;
    default:
      return std::nullopt;
    }
  }

  Origin variable(const VarDecl *V, unsigned Depth) {
    if (!Active.insert(V).second)
      return Origin::Constant; // x = x + ...: the others say what it is
    const Origin Out = variableOnce(V, Depth);
    Active.erase(V);
    return Out;
  }

  Origin variableOnce(const VarDecl *V, unsigned Depth) {
    const unsigned Key = V->getLocation().getRawEncoding();
    if (const ParmVarDecl *P = dyn_cast<ParmVarDecl>(V)) {
      const llvm::ArrayRef<const Expr *> Given = givenTo(P, Facts);
      return Given.empty() ? Origin::Unclear : all(Given, Depth);
    }
    if (isCounter(V))
      return Origin::Counted;
    Origin Out = V->getInit() ? origin(V->getInit(), Depth + 1) : Origin::Constant;
    if (auto At = Facts.Assigned.find(Key); At != Facts.Assigned.end())
      Out = either(Out, all(At->second, Depth));
    return Facts.Assigned.count(Key) || changes(V).empty() ? Out : Origin::Unclear;
  }

  /// References that may change it.
  std::vector<const DeclRefExpr *> changes(const VarDecl *V) const {
    std::vector<const DeclRefExpr *> Out;
    if (auto At = Facts.Modified.find(V->getLocation().getRawEncoding()); At != Facts.Modified.end())
      llvm::copy_if(At->second, std::back_inserter(Out), [&](const DeclRefExpr *R) { return isWritten(R, Context); });
    return Out;
  }

  /// A loop moves it on, step by step.
  bool isCounter(const VarDecl *V) const {
    if (V->isCXXForRangeDecl())
      return true;
    const std::vector<const DeclRefExpr *> Steps = changes(V);
    return !Steps.empty() && !Facts.Assigned.count(V->getLocation().getRawEncoding()) && llvm::all_of(Steps, [&](const DeclRefExpr *R) {
      auto Parents = Context.getParents(*R);
      const UnaryOperator *U = Parents.empty() ? nullptr : Parents[0].get<UnaryOperator>();
      const CompoundAssignOperator *C = Parents.empty() ? nullptr : Parents[0].get<CompoundAssignOperator>();
      return (U && U->isIncrementDecrementOp()) || (C && C->getOpcode() == BO_AddAssign);
    });
  }

  Origin call(const CallExpr *C, unsigned Depth) {
    if (drawsAtRandom(C))
      return Origin::Drawn;
    const FunctionDecl *F = C->getDirectCallee(), *Definition = nullptr;
    if (!F)
      return Origin::Unclear;
    const llvm::StringRef Name = F->getDeclName().isIdentifier() ? F->getName() : "";
    if (isa<CXXMemberCallExpr>(C) && Name == "size")
      return Origin::Counted; // of what is being filled
    const bool Reads = llvm::StringSwitch<bool>(Name).Cases({"atoi", "atol", "atoll", "strtol", "strtoul", "stoi", "stol", "stoul"}, true).Default(false);
    if (Reads) // an argument of the program
      return Origin::Constant;
    const bool Combines = llvm::StringSwitch<bool>(Name).Cases({"min", "max", "abs", "clamp", "floor", "ceil", "round", "sqrt", "pow", "fmin", "fmax"}, true).Default(false);
    if (Combines) {
      Origin Out = Origin::Constant;
      for (const Expr *A : C->arguments())
        Out = both(Out, origin(A, Depth + 1));
      return Out;
    }
    if (!F->hasBody(Definition) || Context.getSourceManager().isInSystemHeader(F->getLocation()))
      return Origin::Unclear;
    if (mixesBits(Definition->getBody()))
      return Origin::Drawn;
    const Expr *Value = lastReturned(F);
    return Value ? origin(Value, Depth + 1) : Origin::Unclear;
  }

  /// What stands at a place: in an array whose entries lie as they were made, it lies as the place does.
  Origin element(const Expr *Base, const Expr *Index, unsigned Depth) {
    const ValueDecl *Array = containerOf(Base);
    if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(Base->IgnoreParenImpCasts()); !Array && R)
      Array = R->getDecl();
    const ValueDecl *Of = arrayOf(Base, Facts); // what all calls give a parameter
    if (!Array || !liesAsMade(Array) || (Of && Of != Array && !liesAsMade(Of)))
      return Origin::Unclear;
    return origin(Index, Depth + 1);
  }

  /// Nobody exchanges entries of \p Array, nor writes them where numbers say that are in no order: `place[label[i]] = i`.
  bool liesAsMade(const ValueDecl *Array) {
    if (Host.Shuffled.count(Array))
      return false;
    const auto At = Host.Writes.find(Array);
    if (At == Host.Writes.end() || !Active.insert(Array).second)
      return true;
    const bool Out = llvm::all_of(At->second, [&](const HostWrite &W) {
      return llvm::all_of(W.Place.Indices, [&](const auto &Index) { return origin(Index.first, 0) <= Origin::Counted; }); // each array once
    });
    Active.erase(Array);
    return Out;
  }

  Origin origin(const Expr *E, unsigned Depth) {
    if (Depth > MaxDepth || ++Steps > MaxSteps || E->isValueDependent())
      return Origin::Unclear;
    E = E->IgnoreUnlessSpelledInSource()->IgnoreParenCasts();
    if (const MaterializeTemporaryExpr *M = dyn_cast<MaterializeTemporaryExpr>(E))
      return origin(M->getSubExpr(), Depth + 1);
    Expr::EvalResult Result;
    if (E->isPRValue() && (E->EvaluateAsInt(Result, Context) || isa<FloatingLiteral, ImplicitValueInitExpr>(E)))
      return Origin::Constant;
    if (const InitListExpr *L = dyn_cast<InitListExpr>(E); L && L->getNumInits() == 1)
      return origin(L->getInit(0), Depth + 1);
    if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E)) {
      if (isa<BindingDecl>(R->getDecl())) // of what a loop goes through
        return Origin::Counted;
      const VarDecl *V = dyn_cast<VarDecl>(R->getDecl());
      return V ? variable(V, Depth) : Origin::Constant;
    }
    if (const MemberExpr *M = dyn_cast<MemberExpr>(E)) {
      const FieldDecl *F = dyn_cast<FieldDecl>(M->getMemberDecl());
      return F ? member(F) : Origin::Unclear;
    }
    if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E))
      return origin(U->getSubExpr(), Depth + 1);
    if (const ConditionalOperator *C = dyn_cast<ConditionalOperator>(E))
      return either(origin(C->getTrueExpr(), Depth + 1), origin(C->getFalseExpr(), Depth + 1));
    if (const BinaryOperator *B = dyn_cast<BinaryOperator>(E)) {
      if (B->isAdditiveOp())
        return sum(B, Depth);
      if (mixesBits(B))
        return Origin::Drawn;
      const Origin L = origin(B->getLHS(), Depth + 1), R = origin(B->getRHS(), Depth + 1);
      return L == Origin::Drawn || R == Origin::Drawn ? Origin::Drawn : both(L, R); // a random number times whatever
    }
    if (const ArraySubscriptExpr *S = dyn_cast<ArraySubscriptExpr>(E))
      return element(S->getBase(), S->getIdx(), Depth);
    if (const CXXOperatorCallExpr *O = dyn_cast<CXXOperatorCallExpr>(E); O && O->getOperator() == OO_Subscript)
      return element(O->getArg(0), O->getArg(1), Depth);
    if (const CallExpr *C = dyn_cast<CallExpr>(E))
      return call(C, Depth);
    return Origin::Unclear;
  }

  const HostWrites &Host;
  const Evaluator &Values;
  const UnitFacts &Facts;
  ASTContext &Context;
  std::set<const ValueDecl *> Active;
  unsigned Steps = 0;
};

} // namespace

IndexOrigin indexOrigin(const FieldDecl *Member, const HostWrites &Host, const Evaluator &Values, const UnitFacts &Facts, ASTContext &Context) {
  return OriginReader(Host, Values, Facts, Context).member(Member);
}

IndexOrigin indexOrigin(llvm::ArrayRef<const Expr *> Values, const HostWrites &Host, const Evaluator &Numbers, const UnitFacts &Facts, ASTContext &Context) {
  return OriginReader(Host, Numbers, Facts, Context).all(Values);
}

} // namespace restride
