#include "analysis/program/MemberRange.h"

#include "analysis/program/Returned.h"

#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"

#include <set>

using namespace clang;

namespace restride {

namespace {

class RangeReader {
public:
  RangeReader(const Evaluator &Values, const UnitFacts &Facts, ASTContext &Context) : Values(Values), Facts(Facts), Context(Context) {}

  using Bound = std::optional<uint64_t>;

  Bound member(const FieldDecl *F, unsigned Depth) {
    const unsigned Key = F->getLocation().getRawEncoding();
    const auto Given = Facts.MemberValues.find(Key);
    if (Given == Facts.MemberValues.end() || Facts.MemberChanges.count(Key) || !Active.insert(F).second)
      return std::nullopt;
    std::vector<const Expr *> Others;
    llvm::copy_if(Given->second, std::back_inserter(Others), [&](const Expr *E) { return !copies(E, F); });
    const Bound Out = all(Others, Depth + 1);
    Active.erase(F);
    return Out;
  }

private:
  static constexpr unsigned MaxDepth = 24, MaxSteps = 2000;
  static constexpr uint64_t Most = uint64_t(1) << 32;

  /// `to.state = from.state`
  static bool copies(const Expr *E, const FieldDecl *F) {
    const MemberExpr *M = dyn_cast<MemberExpr>(E->IgnoreParenImpCasts());
    return M && M->getMemberDecl() == F;
  }

  static Bound larger(Bound A, Bound B) { return A && B ? Bound(std::max(*A, *B)) : std::nullopt; }
  static Bound smaller(Bound A, Bound B) { return A && B ? Bound(std::min(*A, *B)) : A ? A : B; }
  static Bound limited(Bound A) { return A && *A < Most ? A : std::nullopt; }

  Bound all(llvm::ArrayRef<const Expr *> Of, unsigned Depth) {
    Bound Out = 0;
    for (size_t I = 0; Out && I < Of.size(); ++I)
      Out = larger(Out, largest(Of[I], Depth));
    return Out;
  }

  Bound operation(const BinaryOperator *B, unsigned Depth) {
    if (B->isComparisonOp() || B->isLogicalOp())
      return 1;
    if (B->isAssignmentOp())
      return std::nullopt;
    const Bound L = largest(B->getLHS(), Depth), R = largest(B->getRHS(), Depth);
    switch (B->getOpcode()) {
    case BO_Rem: return smaller(L, R && *R > 0 ? Bound(*R - 1) : std::nullopt);
    case BO_And: return smaller(L, R);
    case BO_Add: return L && R ? limited(*L + *R) : std::nullopt;
    case BO_Mul: return L && R ? limited(*L * *R) : std::nullopt;
    case BO_Sub: return L;
    case BO_Or:
    case BO_Xor: return L && R ? limited(*L + *R) : std::nullopt;
    case BO_Div:
    case BO_Shr: break;
    default: return std::nullopt;
    }
    Expr::EvalResult By;
    if (!B->getRHS()->EvaluateAsInt(By, Context) || !By.Val.getInt().isStrictlyPositive())
      return L;
    const uint64_t Of = L.value_or(Context.getTypeSize(B->getLHS()->getType()) <= 32 ? Most - 1 : UINT64_MAX), Number = By.Val.getInt().getLimitedValue(63);
    return limited(B->getOpcode() == BO_Shr ? Of >> Number : Of / By.Val.getInt().getLimitedValue());
  }

  Bound variable(const VarDecl *V, unsigned Depth) {
    if (!Active.insert(V).second) // what it grows by, or is made of bit by bit
      return std::nullopt;
    const Bound Out = variableOnce(V, Depth);
    Active.erase(V);
    return Out;
  }

  Bound variableOnce(const VarDecl *V, unsigned Depth) {
    const unsigned Key = V->getLocation().getRawEncoding();
    if (const ParmVarDecl *P = dyn_cast<ParmVarDecl>(V)) {
      const llvm::ArrayRef<const Expr *> Given = givenTo(P, Facts);
      return Given.empty() || Facts.Modified.count(Key) ? std::nullopt : all(Given, Depth);
    }
    const auto Assigned = Facts.Assigned.find(Key);
    const auto Modified = Facts.Modified.find(Key);
    const size_t Assignments = Assigned == Facts.Assigned.end() ? 0 : Assigned->second.size();
    if (Modified != Facts.Modified.end() && Modified->second.size() != Assignments)
      return std::nullopt;
    const Bound First = V->getInit() ? largest(V->getInit(), Depth) : Bound(0);
    return Assignments ? larger(First, all(Assigned->second, Depth)) : First;
  }

  Bound call(const CallExpr *C, unsigned Depth) {
    const FunctionDecl *F = C->getDirectCallee();
    const llvm::StringRef Name = F && F->getDeclName().isIdentifier() ? F->getName() : "";
    if (Name == "min" && C->getNumArgs() == 2)
      return smaller(largest(C->getArg(0), Depth), largest(C->getArg(1), Depth));
    if (Name == "max" && C->getNumArgs() == 2)
      return larger(largest(C->getArg(0), Depth), largest(C->getArg(1), Depth));
    if (Name == "clamp" && C->getNumArgs() == 3)
      return largest(C->getArg(2), Depth);
    const Expr *Value = F && Context.getSourceManager().isInSystemHeader(F->getLocation()) ? nullptr : F ? lastReturned(F) : nullptr;
    return Value ? largest(Value, Depth) : std::nullopt;
  }

  Bound largest(const Expr *E, unsigned Depth) {
    if (Depth > MaxDepth || ++Steps > MaxSteps || E->isValueDependent())
      return std::nullopt;
    ++Depth;
    E = E->IgnoreUnlessSpelledInSource()->IgnoreParenCasts();
    if (const MaterializeTemporaryExpr *M = dyn_cast<MaterializeTemporaryExpr>(E))
      return largest(M->getSubExpr(), Depth);
    Expr::EvalResult Result;
    if (E->isPRValue() && E->getType()->isIntegralOrEnumerationType() && E->EvaluateAsInt(Result, Context)) {
      const llvm::APSInt &Value = Result.Val.getInt();
      return Value.isNegative() ? Bound(0) : limited(Value.getLimitedValue());
    }
    if (E->getType()->isBooleanType() || isa<ImplicitValueInitExpr>(E))
      return E->getType()->isBooleanType();
    if (!E->getType().getNonReferenceType()->isIntegralOrEnumerationType())
      return std::nullopt;
    if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E)) {
      const VarDecl *V = dyn_cast<VarDecl>(R->getDecl());
      const Bound Out = V ? variable(V, Depth) : std::nullopt;
      const std::optional<Estimate> Known = Out || !V ? std::nullopt : Values.integer(R);
      return Known && !Known->Assumed.changes() && Known->Value >= 0 ? limited(uint64_t(Known->Value)) : Out;
    }
    if (const MemberExpr *M = dyn_cast<MemberExpr>(E)) {
      const FieldDecl *F = dyn_cast<FieldDecl>(M->getMemberDecl());
      return F ? member(F, Depth) : std::nullopt;
    }
    if (const ConditionalOperator *C = dyn_cast<ConditionalOperator>(E))
      return larger(largest(C->getTrueExpr(), Depth), largest(C->getFalseExpr(), Depth));
    if (const BinaryOperator *B = dyn_cast<BinaryOperator>(E))
      return operation(B, Depth);
    if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E))
      return U->getOpcode() == UO_LNot ? Bound(1) : U->getOpcode() == UO_Plus ? largest(U->getSubExpr(), Depth) : std::nullopt;
    if (const CallExpr *C = dyn_cast<CallExpr>(E))
      return call(C, Depth);
    return std::nullopt;
  }

  const Evaluator &Values;
  const UnitFacts &Facts;
  ASTContext &Context;
  std::set<const ValueDecl *> Active;
  unsigned Steps = 0;
};

} // namespace

std::optional<uint64_t> largestGiven(const FieldDecl *Member, const Evaluator &Values, const UnitFacts &Facts, ASTContext &Context) {
  const std::optional<uint64_t> Out = RangeReader(Values, Facts, Context).member(Member, 0);
  const uint64_t Bits = Context.getTypeSize(Member->getType()) - (Member->getType()->isSignedIntegerOrEnumerationType() ? 1 : 0);
  return Out && Bits < 64 && *Out >> Bits ? std::nullopt : Out;
}

} // namespace restride
