// Pointers to elements that walk, `for (P *p = a; p != a + n; ++p)`, and those that are
// compared or subtracted: all that matters of them is their places in the array.

#include "analysis/program/Around.h"
#include "analysis/program/StableBase.h"
#include "analysis/program/Uses.h"

#include "clang/AST/ASTContext.h"

using namespace clang;

namespace restride {

/// `++p`, `p -= k`, with no one to see what comes of it. \p Pointer names the variable.
bool UseClassifier::isStep(const Expr *Pointer) const {
  const Stmt *S = parent(Pointer);
  const UnaryOperator *U = dyn_cast_or_null<UnaryOperator>(S);
  const CompoundAssignOperator *C = dyn_cast_or_null<CompoundAssignOperator>(S);
  const bool Moves = (U && U->isIncrementDecrementOp()) || (C && C->getLHS() == Pointer);
  return Moves && resultIsUnused(cast<Expr>(S));
}

bool UseClassifier::walks(const VarDecl *V) const {
  auto Changes = Facts.Modified.find(V->getLocation().getRawEncoding());
  return V->getType()->isPointerType() && Changes != Facts.Modified.end() && llvm::all_of(Changes->second, [&](const DeclRefExpr *R) { return isStep(R); });
}

namespace {

/// The array that a pointer is known to point into.
struct PointsInto {
  llvm::SmallVector<const ValueDecl *, 4> Begin; ///< names its begin, `grid.cells`; empty: not known
  bool ByAlias = false;                          ///< an alias says so, while which that keeps its value
};

} // namespace

static PointsInto pointsInto(const Expr *E, const UnitFacts &Facts) {
  E = E->IgnoreParenImpCasts();
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E))
    if (auto At = Facts.Aliases.find(R->getDecl()); At != Facts.Aliases.end()) {
      const AliasFacts &A = At->second;
      if (A.BaseVariable)
        return {{A.BaseVariable}, true};
      return {A.Instead && A.Instead->Base ? namesOf(A.Instead->Base) : llvm::SmallVector<const ValueDecl *, 4>(), true};
    }
  if (isa<DeclRefExpr, MemberExpr>(E))
    return {namesOf(E), false};
  if (const BinaryOperator *B = dyn_cast<BinaryOperator>(E); B && B->isAdditiveOp())
    return pointsInto(B->getLHS()->getType()->isPointerType() ? B->getLHS() : B->getRHS(), Facts);
  const UnaryOperator *U = dyn_cast<UnaryOperator>(E);
  const ArraySubscriptExpr *A = U && U->getOpcode() == UO_AddrOf ? dyn_cast<ArraySubscriptExpr>(U->getSubExpr()->IgnoreParens()) : nullptr;
  return A ? pointsInto(A->getBase(), Facts) : PointsInto();
}

/// `p + i` with an i that has no sign: a difference of two such would have none either.
static bool hasUnsigned(const Pointer &P) {
  return llvm::any_of(P.Terms, [](const Pointer::Term &T) {
    return T.E && (T.E->getType()->isUnsignedIntegerOrEnumerationType() || T.E->IgnoreParenImpCasts()->getType()->isUnsignedIntegerOrEnumerationType());
  });
}

/// \p E is an operand of \p B, whose other one points into the same array: their places say all.
bool UseClassifier::ofOneArray(const BinaryOperator *B, const Expr *E, const Pointer &P) {
  const bool IsDifference = B->getOpcode() == BO_Sub;
  const PointsInto L = pointsInto(B->getLHS(), Facts), R = pointsInto(B->getRHS(), Facts);
  if (Graph.scalars() || (!B->isComparisonOp() && !IsDifference) || L.Begin.empty() || L.Begin != R.Begin || !(L.ByAlias || R.ByAlias))
    return false;
  std::optional<Range> Whole = View.range(E->getSourceRange());
  std::optional<Element> What = Whole ? elementOf(P, E->getExprLoc()) : std::nullopt;
  if (!Whole)
    refuse(P, E->getExprLoc(), std::string("this use of the pointer") + View.whyNoRange(E->getExprLoc()));
  else if (What)
    Graph.facts(P.Node).Sites.Places.push_back({*Whole, *What, IsDifference && B->getRHS() == E, hasUnsigned(P), View.where(E->getExprLoc())});
  return true;
}

} // namespace restride
