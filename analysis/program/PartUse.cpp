#include "analysis/program/PartUse.h"
#include "analysis/program/Around.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMapContext.h"

using namespace clang;

namespace restride {

static std::optional<uint64_t> constantIndex(const Expr *E, const ASTContext &Context) {
  Expr::EvalResult Result;
  if (E->isValueDependent() || !E->EvaluateAsInt(Result, Context) || Result.Val.getInt().isNegative())
    return std::nullopt;
  return Result.Val.getInt().getZExtValue();
}

const Expr *wholeOf(const Expr *E, llvm::SmallVectorImpl<uint64_t> &P, const ASTContext &Context) {
  for (;;) {
    E = E->IgnoreParenImpCasts();
    if (const MemberExpr *M = dyn_cast<MemberExpr>(E)) {
      const FieldDecl *F = dyn_cast<FieldDecl>(M->getMemberDecl());
      if (!F)
        return nullptr;
      P.insert(P.begin(), F->getFieldIndex());
      E = M->getBase();
    } else if (const ArraySubscriptExpr *S = dyn_cast<ArraySubscriptExpr>(E)) {
      std::optional<uint64_t> Index = constantIndex(S->getIdx(), Context);
      if (!Index || !S->getBase()->IgnoreParenImpCasts()->getType()->isArrayType())
        return nullptr;
      P.insert(P.begin(), *Index);
      E = S->getBase();
    } else
      return E;
  }
}

/// `&h` where the pointer can only be read through: `(const void *)&h`.
static bool onlyReads(const Expr *Pointer, ASTContext &Context) {
  for (const Expr *E = Pointer; E; E = dyn_cast_or_null<CastExpr>(parentOf(E, Context)))
    if (QualType T = E->getType(); T->isPointerType() && T->getPointeeType().isConstQualified())
      return true;
  return false;
}

PartUse partUse(const DeclRefExpr *R, llvm::ArrayRef<uint64_t> P, ASTContext &Context) {
  using Kind = PartUse::Kind;
  size_t Known = 0; // steps of P that E is behind
  // A step to another part: nothing happens to P.
  auto leads = [&](std::optional<uint64_t> Step) { return Known >= P.size() || !Step || *Step == P[Known]; };
  for (const Expr *E = R;;) {
    const Stmt *Up = parentOf(E, Context);
    if (const MemberExpr *M = dyn_cast_or_null<MemberExpr>(Up)) {
      if (const CXXMethodDecl *F = dyn_cast<CXXMethodDecl>(M->getMemberDecl()))
        return {F->isConst() ? Kind::None : Kind::Changes};
      const FieldDecl *F = dyn_cast<FieldDecl>(M->getMemberDecl());
      if (!F || !leads(F->getFieldIndex()))
        return {};
      ++Known;
      E = M;
      continue;
    }
    if (const ParenExpr *In = dyn_cast_or_null<ParenExpr>(Up)) {
      E = In;
      continue;
    }
    if (const CastExpr *Cast = dyn_cast_or_null<CastExpr>(Up)) {
      if (Cast->getCastKind() == CK_LValueToRValue || Cast->getType().isConstQualified())
        return {};
      if (Cast->getCastKind() == CK_NoOp) {
        E = Cast;
        continue;
      }
      const ArraySubscriptExpr *S = Cast->getCastKind() == CK_ArrayToPointerDecay ? dyn_cast_or_null<ArraySubscriptExpr>(parentOf(Cast, Context)) : nullptr;
      if (!S)
        return {onlyReads(Cast, Context) ? Kind::None : Kind::Changes};
      const std::optional<uint64_t> Index = constantIndex(S->getIdx(), Context);
      if (!leads(Index))
        return {};
      Known += Index ? 1 : P.size() + 1; // some element: never the part itself
      E = S;
      continue;
    }
    if (const UnaryOperator *U = dyn_cast_or_null<UnaryOperator>(Up); U && U->getOpcode() == UO_AddrOf)
      return {onlyReads(U, Context) ? Kind::None : Kind::Changes};
    if (const BinaryOperator *B = dyn_cast_or_null<BinaryOperator>(Up); B && B->getOpcode() == BO_Assign && B->getLHS() == E && Known <= P.size())
      return {Kind::Assigns, B->getRHS(), Known};
    if (const CXXOperatorCallExpr *C = dyn_cast_or_null<CXXOperatorCallExpr>(Up); C && C->getOperator() == OO_Equal && C->getArg(0) == E && Known <= P.size())
      return {Kind::Assigns, C->getArg(1), Known};
    const CXXConstructExpr *Copy = dyn_cast_or_null<CXXConstructExpr>(Up);
    const bool Reads = isa_and_nonnull<UnaryExprOrTypeTraitExpr, ReturnStmt>(Up) || (Copy && Copy->getConstructor()->isCopyOrMoveConstructor());
    return {Reads ? Kind::None : Kind::Changes};
  }
}

} // namespace restride
