// "points.size()": how many elements the host puts into a std::vector.
#include "analysis/program/Evaluate.h"
#include "analysis/program/HostPlaces.h"

#include "clang/AST/DynamicRecursiveASTVisitor.h"

using namespace clang;

namespace restride {

/// Null where it is no variable.
static const VarDecl *variableOf(const Expr *E) {
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E->IgnoreParenImpCasts());
  return R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
}

namespace {

/// Calls of member functions of one variable that give it elements.
class SizeChanges : public DynamicRecursiveASTVisitor {
public:
  explicit SizeChanges(const VarDecl *V) : V(V) {}

  bool VisitCXXMemberCallExpr(CXXMemberCallExpr *C) override {
    const CXXMethodDecl *M = C->getMethodDecl();
    if (!M || !M->getDeclName().isIdentifier() || variableOf(C->getImplicitObjectArgument()) != V)
      return true;
    if (M->getName() == "push_back" || M->getName() == "emplace_back")
      (InLambda ? Unclear : Appends).push_back(C);
    else if ((M->getName() == "resize" || M->getName() == "assign") && C->getNumArgs())
      Sizes.push_back(C->getArg(0));
    return true;
  }
  bool TraverseLambdaExpr(LambdaExpr *L) override {
    bool Outer = std::exchange(InLambda, true);
    bool Goes = DynamicRecursiveASTVisitor::TraverseLambdaExpr(L);
    InLambda = Outer;
    return Goes;
  }

  std::vector<const Expr *> Appends, Sizes, Unclear;

private:
  const VarDecl *V;
  bool InLambda = false;
};

} // namespace

std::optional<Estimate> Evaluator::containerSize(const VarDecl *V, Frame In) const {
  if (!V || !isContainer(V->getType()) || In.Depth > MaxDepth)
    return std::nullopt;
  if (isa<ParmVarDecl>(V) || V->getType()->isReferenceType()) {
    auto At = Facts.Arguments.find(V->getLocation().getRawEncoding());
    if (At == Facts.Arguments.end() || At->second.size() != 1)
      return std::nullopt;
    return containerSize(variableOf(At->second.front()), In.deeper());
  }
  if (auto At = Integers.find(V); At != Integers.end())
    return At->second;
  Integers[V] = std::nullopt; // for (i = 0; i < v.size(); ++i) v.push_back(i): not through itself
  std::optional<Estimate> Size;
  const Expr *Init = V->getInit() ? V->getInit()->IgnoreUnlessSpelledInSource() : nullptr;
  if (const CXXConstructExpr *C = dyn_cast_or_null<CXXConstructExpr>(Init); C && C->getNumArgs()) {
    const Expr *First = C->getArg(0);
    Size = First->getType()->isIntegerType() ? integer(First, In.deeper()) : containerSize(variableOf(First), In.deeper());
  }
  const FunctionDecl *F = dyn_cast<FunctionDecl>(V->getDeclContext());
  if (F && F->hasBody()) {
    SizeChanges G(V);
    G.TraverseStmt(F->getBody());
    for (const Expr *E : G.Sizes)
      if (std::optional<Estimate> To = integer(E, In.deeper()); To && (!Size || To->Value > Size->Value))
        Size = To;
    double Appended = 0;
    bool Counted = G.Unclear.empty();
    for (const Expr *E : G.Appends)
      Appended += timesExecuted(E, Context, &Counted);
    if (!Counted)
      Size.reset();
    else if (Appended > 0 && Appended < 1e15)
      Size = Estimate{int64_t(Appended) + (Size ? Size->Value : 0), true};
  }
  if (Size)
    Size->Assumed = true;
  if (Trial.empty())
    Integers[V] = Size;
  else
    Integers.erase(V);
  return Size;
}

} // namespace restride
