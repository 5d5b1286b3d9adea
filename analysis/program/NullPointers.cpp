// Tracked pointers that are set to null, and those that are asked whether they are.

#include "analysis/program/Around.h"
#include "analysis/program/Uses.h"

#include "clang/AST/ASTContext.h"

using namespace clang;

namespace restride {

/// `d = nullptr;`
void UseClassifier::nullStatement(const BinaryOperator *Assignment, const Pointer &P) {
  std::vector<NullValue> &Nulls = Graph.facts(P.Node).Sites.Nulls;
  std::optional<Range> Value = View.range(Assignment->getRHS()->getSourceRange()), Whole = View.range(Assignment->getSourceRange());
  if (!Graph.scalars() || Nulls.empty() || !Whole || Nulls.back().Whole != Value)
    return;
  Surroundings Around = surroundings(Assignment, Context);
  if (Around.Statement != Assignment)
    return;
  Nulls.back().Statement = *Whole;
  Nulls.back().Block = View.range(Around.Block->getSourceRange());
}

void UseClassifier::test(const Expr *E, const Pointer &P) {
  if (leavesDeclaredArray(E, P))
    return;
  if (!P.Terms.empty() || !P.Base)
    return refuse(P, E->getExprLoc(), "a pointer into the array is tested for null");
  if (std::optional<Range> R = View.range(P.Base->getSourceRange()))
    Graph.facts(P.Node).Sites.Tests.push_back({*R, !isa<UnaryOperator>(P.Base)});
  else
    refuse(P, E->getExprLoc(), "a macro's body tests the pointer for null or frees it without its type", "soa");
}

/// \p E is where an array begins, by a name or a call that says so.
static bool isBegin(const Expr *E, const UnitFacts &Facts) {
  E = E->IgnoreParenImpCasts();
  if (const ConditionalOperator *C = dyn_cast<ConditionalOperator>(E))
    return isBegin(C->getTrueExpr(), Facts) && isBegin(C->getFalseExpr(), Facts);
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E);
  return isa<MemberExpr, CallExpr>(E) || (R && !Facts.Aliases.count(R->getDecl()));
}

bool UseClassifier::comparison(const BinaryOperator *B, const Expr *E, const Pointer &P) {
  const Expr *Other = B->getLHS() == E ? B->getRHS() : B->getLHS();
  if (ofOneArray(B, E, P))
    return true;
  if (B->isEqualityOp() && !Graph.scalars() && P.Terms.empty() && P.Base && isBegin(Other, Facts)) { // whether they are the same array
    flowInto(P.Node, Other);
    test(E, P);
    if (std::vector<PointerTest> &Tests = Graph.facts(P.Node).Sites.Tests; !Tests.empty())
      Tests.back().Compared = true;
    return true;
  }
  if (!B->isEqualityOp() || !Other->isNullPointerConstant(Context, Expr::NPC_ValueDependentIsNull))
    return false;
  test(E, P);
  return true;
}

} // namespace restride
