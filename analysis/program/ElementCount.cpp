// How many elements a byte count is for, as text that two arrays can agree on.

#include "analysis/program/Purity.h"
#include "analysis/program/Reaching.h"
#include "analysis/program/Sizes.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMapContext.h"

using namespace clang;

namespace restride {

namespace {

/// Evaluated twice it gives one value, as long as no variable changes.
static bool repeats(const Stmt *S) {
  if (const CXXMemberCallExpr *M = dyn_cast<CXXMemberCallExpr>(S))
    if (const CXXMethodDecl *F = M->getMethodDecl(); F && F->isConst() && F->isInStdNamespace() && M->getNumArgs() == 0)
      return repeats(M->getImplicitObjectArgument());
  if (const Expr *E = dyn_cast<Expr>(S); E && isa<CallExpr>(S))
    return isPure(E);
  const BinaryOperator *B = dyn_cast<BinaryOperator>(S);
  const UnaryOperator *U = dyn_cast<UnaryOperator>(S);
  if ((B && B->isAssignmentOp()) || (U && U->isIncrementDecrementOp()) || isa<StmtExpr, LambdaExpr, CXXNewExpr>(S))
    return false;
  return llvm::all_of(S->children(), [](const Stmt *Child) { return !Child || repeats(Child); });
}

/// A product's factors, in the order of the source.
class Factors {
public:
  Factors(QualType Element, ASTContext &Context, const UnitFacts &Facts) : Element(Element), Context(Context), Facts(Facts) {}

  void add(const Expr *E, unsigned Depth = 0) {
    E = plain(E);
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
        return addValue(R, Value, Depth);
    changes(E);
    llvm::raw_string_ostream OS(Out.Text);
    OS << (Out.Text.empty() ? "" : " * ");
    E->printPretty(OS, nullptr, Context.getPrintingPolicy());
    identify(E, OS);
  }

  CountText Out;
  unsigned Sizes = 0;

private:
  /// Without casts that keep the value.
  const Expr *plain(const Expr *E) const {
    for (;;) {
      E = E->IgnoreParens();
      const CastExpr *C = dyn_cast<CastExpr>(E);
      if (!C)
        return E;
      QualType From = C->getSubExpr()->getType(), To = C->getType();
      bool Reads = C->getCastKind() == CK_LValueToRValue || C->getCastKind() == CK_NoOp;
      if (!Reads && !(From->isIntegralOrEnumerationType() && To->isIntegerType() && Context.getTypeSize(To) >= 32))
        return E;
      E = C->getSubExpr();
    }
  }
  /// What a variable got may be something else by now; the variable still has it.
  void addValue(const DeclRefExpr *R, const Expr *Value, unsigned Depth) {
    Factors Inner(Element, Context, Facts);
    Inner.add(Value, Depth + 1);
    Sizes += Inner.Sizes;
    Out.Text += (Out.Text.empty() ? "" : " * ") + Inner.Out.Text;
    if (!Inner.Out.Changing && Inner.Out.Changes.empty())
      return;
    llvm::raw_string_ostream OS(Out.Text);
    identify(R, OS);
    changes(R);
  }
  /// A name can mean two things in one block.
  static void identify(const Stmt *S, llvm::raw_ostream &OS) {
    if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(S))
      OS << '@' << R->getDecl()->getLocation().getRawEncoding();
    for (const Stmt *Child : S->children())
      if (Child)
        identify(Child, OS);
  }
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
  /// What could make two evaluations give two values.
  void changes(const Stmt *S) {
    if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(S))
      if (const VarDecl *V = dyn_cast<VarDecl>(R->getDecl()); V && isModified(Facts, V)) {
        auto At = Facts.Modified.find(V->getLocation().getRawEncoding());
        bool Local = V->hasLocalStorage() && !V->getType()->isReferenceType() && At != Facts.Modified.end();
        for (const DeclRefExpr *Change : Local ? At->second : std::vector<const DeclRefExpr *>()) {
          Local &= assigns(Change);
          Out.Changes.push_back(Change);
        }
        Out.Changing |= !Local;
      }
    const UnaryOperator *U = dyn_cast<UnaryOperator>(S);
    Out.Changing |= isa<MemberExpr, CallExpr, ArraySubscriptExpr>(S) || (U && U->getOpcode() == UO_Deref);
    for (const Stmt *Child : S->children())
      if (Child)
        changes(Child);
  }
  /// \p R is assigned to here, in the function itself.
  bool assigns(const DeclRefExpr *R) const {
    auto Parents = Context.getParents(*R);
    const Stmt *S = Parents.empty() ? nullptr : Parents[0].get<Stmt>();
    const BinaryOperator *B = dyn_cast_or_null<BinaryOperator>(S);
    const UnaryOperator *U = dyn_cast_or_null<UnaryOperator>(S);
    if (!(B && B->isAssignmentOp() && B->getLHS() == R) && !(U && U->isIncrementDecrementOp()))
      return false;
    for (Parents = Context.getParents(*S); !Parents.empty() && !Parents[0].get<FunctionDecl>(); Parents = Context.getParents(Parents[0]))
      if (Parents[0].get<LambdaExpr>())
        return false;
    return true;
  }

  QualType Element;
  ASTContext &Context;
  const UnitFacts &Facts;
};

} // namespace

CountText elementCount(const Expr *Bytes, QualType Element, ASTContext &Context, const UnitFacts &Facts) {
  Expr::EvalResult R;
  uint64_t Size = Context.getTypeSizeInChars(Element).getQuantity();
  if (!Bytes->isValueDependent() && Bytes->EvaluateAsInt(R, Context) && R.Val.getInt().getZExtValue() % Size == 0)
    return {std::to_string(R.Val.getInt().getZExtValue() / Size), {}, false};
  if (!repeats(Bytes))
    return {};
  Factors F(Element, Context, Facts);
  F.add(Bytes);
  if (F.Sizes != 1)
    F.Out.Text.clear();
  return std::move(F.Out);
}

} // namespace restride
