// Variables that count what was written so far: `h[t++] = x;`.

#include "analysis/program/Around.h"
#include "analysis/program/FillFormula.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace restride {

namespace {

/// A change of a variable by a number that is always the same.
struct CounterStep {
  int64_t By = 0;
  bool First = false; ///< `++t`: the value is the one after it
};

/// Where a statement stands in a loop, and in all loops inside of that one.
struct InLoops {
  llvm::SmallVector<const Stmt *, 4> Loops; ///< the outermost first
  bool EachTrip = true;                     ///< their trips run it once each
};

} // namespace

static std::optional<CounterStep> stepOf(const DeclRefExpr *R, ASTContext &Context) {
  const Stmt *Up = parentOf(R, Context);
  if (const UnaryOperator *U = dyn_cast_or_null<UnaryOperator>(Up); U && U->isIncrementDecrementOp())
    return CounterStep{U->isIncrementOp() ? 1 : -1, U->isPrefix()};
  const CompoundAssignOperator *B = dyn_cast_or_null<CompoundAssignOperator>(Up);
  Expr::EvalResult By;
  if (!B || B->getLHS() != R || !B->isAdditiveOp(BinaryOperator::getOpForCompoundAssignment(B->getOpcode())) || B->getRHS()->isValueDependent() ||
      !B->getRHS()->EvaluateAsInt(By, Context))
    return std::nullopt;
  const int64_t Value = By.Val.getInt().getExtValue();
  return CounterStep{B->getOpcode() == BO_AddAssign ? Value : -Value, true};
}

/// None: \p S is not in the body of \p Outermost.
static std::optional<InLoops> inLoops(const Stmt *S, const Stmt *Outermost, ASTContext &Context) {
  InLoops Out;
  const Stmt *Child = S;
  bool Found = false;
  goOutward(S, Context, [&](const DynTypedNode &Node) {
    const Stmt *Parent = Node.get<Stmt>();
    if (!Parent)
      return Node.get<VarDecl>() != nullptr;
    const ForStmt *For = dyn_cast<ForStmt>(Parent);
    const CXXForRangeStmt *Range = dyn_cast<CXXForRangeStmt>(Parent);
    if (isa<LambdaExpr>(Parent) || (For && For->getBody() != Child) || (Range && Range->getBody() != Child))
      return false;
    if (For || Range)
      Out.Loops.insert(Out.Loops.begin(), Parent);
    const IfStmt *If = dyn_cast<IfStmt>(Parent);
    const ConditionalOperator *Choice = dyn_cast<ConditionalOperator>(Parent);
    const BinaryOperator *Logical = dyn_cast<BinaryOperator>(Parent);
    const DoStmt *Do = dyn_cast<DoStmt>(Parent);
    if (isa<SwitchStmt, WhileStmt>(Parent) || (Do && !Do->getCond()->isIntegerConstantExpr(Context)) || (If && If->getCond() != Child) ||
        (Choice && Choice->getCond() != Child) || (Logical && Logical->isLogicalOp() && Logical->getLHS() != Child))
      Out.EachTrip = false;
    Child = Parent;
    Found = Parent == Outermost;
    return !Found;
  });
  return Found ? std::optional(Out) : std::nullopt;
}

static bool mayEndEarly(const Stmt *S) {
  return isa<ContinueStmt, BreakStmt, GotoStmt, ReturnStmt>(S) ||
         (!isa<LambdaExpr>(S) && llvm::any_of(S->children(), [](const Stmt *Child) { return Child && mayEndEarly(Child); }));
}

uint32_t FillFormula::counted(const DeclRefExpr *R, const VarDecl *V, unsigned Depth) {
  const SourceManager &Manager = Context.getSourceManager();
  const std::optional<InLoops> Here = Outermost ? inLoops(R, Outermost, Context) : std::nullopt;
  const auto Writes = Facts.Modified.find(V->getLocation().getRawEncoding());
  if (!Here || Here->Loops.size() > Loops.size() || !V->isLocalVarDecl() || V->isStaticLocal() || !V->getInit() || Writes == Facts.Modified.end() || mayEndEarly(Outermost))
    return unknown(R);
  std::optional<size_t> Around; // loops around the steps
  int64_t InTrip = 0, Before = 0;
  for (const DeclRefExpr *Write : Writes->second) {
    if (!isWritten(Write, Context) || Manager.isBeforeInTranslationUnit(Outermost->getEndLoc(), Write->getLocation()))
      continue;
    const std::optional<CounterStep> Step = stepOf(Write, Context);
    const std::optional<InLoops> There = inLoops(Write, Outermost, Context);
    if (!Step || !There || !There->EachTrip || There->Loops.size() > Here->Loops.size() || Around.value_or(There->Loops.size()) != There->Loops.size() ||
        !std::equal(There->Loops.begin(), There->Loops.end(), Here->Loops.begin()))
      return unknown(R);
    Around = There->Loops.size();
    InTrip += Step->By;
    if (Write == R ? Step->First : Manager.isBeforeInTranslationUnit(Write->getLocation(), R->getLocation()))
      Before += Step->By;
  }
  uint32_t Trip = constant(0);
  for (size_t I = 0; I < Around.value_or(0); ++I) {
    if (Manager.isBeforeInTranslationUnit(Here->Loops[I]->getBeginLoc(), V->getLocation())) // it begins anew in each trip
      continue;
    const Evaluator::CountedLoop &L = Loops[I];
    const uint32_t Own = binary(FillNode::Op::Div, binary(FillNode::Op::Sub, counter(I), constant(L.First)), constant(L.Step));
    Trip = binary(FillNode::Op::Add, binary(FillNode::Op::Mul, Trip, constant(int64_t(L.Trips))), Own);
  }
  const uint32_t Begin = binary(FillNode::Op::Add, add(V->getInit(), Depth + 1), constant(Before));
  return binary(FillNode::Op::Add, Begin, binary(FillNode::Op::Mul, Trip, constant(InTrip)));
}

} // namespace restride
