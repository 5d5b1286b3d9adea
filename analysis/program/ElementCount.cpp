// How many elements a byte count is for, as text that two arrays can agree on.

#include "analysis/program/Reaching.h"
#include "analysis/program/Sizes.h"

using namespace clang;

namespace restride {

namespace {

/// A product's factors, in the order of the source.
class Factors {
public:
  Factors(QualType Element, ASTContext &Context, const UnitFacts &Facts) : Element(Element), Context(Context), Facts(Facts) {}

  void add(const Expr *E, unsigned Depth = 0) {
    E = E->IgnoreParenCasts();
    if (const BinaryOperator *B = dyn_cast<BinaryOperator>(E); B && B->getOpcode() == BO_Mul) {
      add(B->getLHS(), Depth);
      add(B->getRHS(), Depth);
      return;
    }
    const UnaryExprOrTypeTraitExpr *S = dyn_cast<UnaryExprOrTypeTraitExpr>(E);
    if (S && S->getKind() == UETT_SizeOf && Context.hasSameUnqualifiedType(S->getTypeOfArgument(), Element)) {
      ++Sizes;
      return;
    }
    if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E); R && Depth < 4)
      if (const Expr *Value = valueOf(R); Value && hasSize(Value, 0))
        return add(Value, Depth + 1);
    Changing |= changes(E);
    llvm::raw_string_ostream OS(Text);
    OS << (Text.empty() ? "" : " * ");
    E->printPretty(OS, nullptr, Context.getPrintingPolicy());
  }

  std::string Text;
  unsigned Sizes = 0;
  bool Changing = false;

private:
  const Expr *valueOf(const DeclRefExpr *R) {
    const VarDecl *V = dyn_cast<VarDecl>(R->getDecl());
    if (!V || isa<ParmVarDecl>(V))
      return nullptr;
    return isModified(Facts, V) ? reachingValue(R, Facts, Context) : V->getAnyInitializer();
  }
  bool hasSize(const Expr *E, unsigned Depth) {
    E = E->IgnoreParenCasts();
    if (const BinaryOperator *B = dyn_cast<BinaryOperator>(E))
      return hasSize(B->getLHS(), Depth) || hasSize(B->getRHS(), Depth);
    if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E); R && Depth < 4)
      if (const Expr *Value = valueOf(R))
        return hasSize(Value, Depth + 1);
    return isa<UnaryExprOrTypeTraitExpr>(E);
  }
  /// Two evaluations could give two values.
  bool changes(const Stmt *S) {
    if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(S))
      if (const VarDecl *V = dyn_cast<VarDecl>(R->getDecl()))
        return isModified(Facts, V);
    if (isa<MemberExpr, CallExpr>(S))
      return true;
    return llvm::any_of(S->children(), [&](const Stmt *Child) { return Child && changes(Child); });
  }

  QualType Element;
  ASTContext &Context;
  const UnitFacts &Facts;
};

} // namespace

std::string elementCount(const Expr *Bytes, QualType Element, ASTContext &Context, const UnitFacts &Facts, bool &Changing) {
  Expr::EvalResult R;
  uint64_t Size = Context.getTypeSizeInChars(Element).getQuantity();
  if (!Bytes->isValueDependent() && Bytes->EvaluateAsInt(R, Context) && R.Val.getInt().getZExtValue() % Size == 0)
    return std::to_string(R.Val.getInt().getZExtValue() / Size);
  Factors F(Element, Context, Facts);
  F.add(Bytes);
  Changing = F.Changing;
  return F.Sizes == 1 ? F.Text : "";
}

} // namespace restride
