// An element as its text: the pointer, and the terms of the index.

#include "analysis/program/Purity.h"
#include "analysis/program/Uses.h"

#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace restride {

/// Needs no parentheses as an operand of + and of [].
static bool isPrimary(const Expr *E) {
  const Expr *Plain = E->IgnoreImpCasts();
  return isa<DeclRefExpr, IntegerLiteral, ParenExpr, MemberExpr, ArraySubscriptExpr, CallExpr, PseudoObjectExpr,
             SubstNonTypeTemplateParmExpr>(Plain) &&
         !isa<CXXOperatorCallExpr>(Plain);
}

/// `p.x` where p is a reference to an element: which one it is never changes.
static bool isReference(const Expr *Base) {
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>(Base->IgnoreParens());
  return R && R->getDecl()->getType()->isReferenceType() && R->getType()->isRecordType();
}

std::vector<const Expr *> operands(const Pointer &P) {
  std::vector<const Expr *> Out;
  if (P.Base && !P.Elsewhere && !isReference(P.Base))
    Out.push_back(P.Base);
  for (const Pointer::Term &T : llvm::ArrayRef(P.Terms).drop_front(P.Elsewhere ? 1 : 0))
    if (T.E)
      Out.push_back(T.E);
  return Out;
}

std::optional<Element> UseClassifier::elementOf(const Pointer &P, SourceLocation L) {
  Element Out;
  auto Macro = [&] {
    refuse(P, L, std::string("this access") + View.whyNoRange(L));
    return std::nullopt;
  };
  if (P.Base) {
    std::optional<Range> R = View.range(P.Base->getSourceRange());
    if (!R)
      return Macro();
    Out.Base = *R;
    if (P.Owned)
      Out.BaseName = View.text(*R).str() + ".get()";
  } else {
    Out.BaseName = P.BaseName;
  }
  Out.Elsewhere = P.Elsewhere || !P.Base || P.Owned;
  Out.ToElement = P.Base && Graph.facts(P.Node).ToElement;
  if (orderMatters(operands(P))) {
    refuse(P, L, "the order in which the parts of this access are evaluated matters, and would change");
    return std::nullopt;
  }
  for (const Pointer::Term &T : P.Terms) {
    IndexTerm Term;
    Term.Negative = T.Negative;
    if (T.E) {
      if (const BinaryOperator *B = dyn_cast<BinaryOperator>(T.E->IgnoreImpCasts()); B && B->isCommaOp()) {
        refuse(P, T.E->getExprLoc(), "the index is a comma expression");
        return std::nullopt;
      }
      std::optional<Range> R = View.range(T.E->getSourceRange());
      if (!R)
        return Macro();
      Term.Source = *R;
      // A macro's expansion may be any expression.
      SourceLocation Begin = T.E->getBeginLoc();
      Term.Primary = isPrimary(T.E) && (!Begin.isMacroID() || View.sourceManager().isMacroArgExpansion(Begin));
      if (!isPure(T.E))
        Out.At.Impure = View.where(T.E->getExprLoc());
    } else {
      Term.Name = T.Name;
      Term.Primary = true;
    }
    Out.At.Terms.push_back(Term);
  }
  return Out;
}

} // namespace restride
