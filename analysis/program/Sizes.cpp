#include "analysis/program/FieldCopyCode.h"
#include "analysis/program/Reaching.h"
#include "analysis/program/Sizes.h"
#include "analysis/program/Allocators.h"

#include "clang/AST/ParentMapContext.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"

using namespace clang;

namespace restride {

static constexpr unsigned MaxDepth = 32;

/// What an array, of any dimension, is made of.
static QualType element(QualType T) { return QualType(T->getBaseElementTypeUnsafe(), 0); }

static bool isRecord(QualType T, const CXXRecordDecl *Record) {
  const CXXRecordDecl *D = T.getNonReferenceType()->getAsCXXRecordDecl();
  return D && D->getCanonicalDecl() == Record->getCanonicalDecl();
}

namespace {

class ByteCounter {
public:
  ByteCounter(QualType Element, const ASTContext &Context, const UnitFacts &Facts, std::set<const FieldDecl *> *Members)
      : Element(Element), Context(Context), Facts(Facts), Members(Members) {}

  ByteCount count(const Expr *E) {
    if (++Steps > MaxSteps || E->isValueDependent())
      return ByteCount::Unclear;
    // On its way through small integers and floating point a count loses bytes.
    for (;; E = cast<CastExpr>(E)->getSubExpr()) {
      E = E->IgnoreParens();
      QualType T = E->getType();
      if (T->isFloatingType())
        return ByteCount::Unclear;
      if (!isa<CastExpr>(E))
        break;
      if (T->isIntegerType() && Context.getIntWidth(T) < 32)
        return ByteCount::Unclear;
    }
    E = E->IgnoreParenCasts();
    if (const UnaryExprOrTypeTraitExpr *S = dyn_cast<UnaryExprOrTypeTraitExpr>(E))
      if (S->getKind() == UETT_SizeOf && Context.hasSameUnqualifiedType(element(S->getTypeOfArgument()).getNonReferenceType(), Element))
        return ByteCount::Scaled;
    if (const BinaryOperator *B = dyn_cast<BinaryOperator>(E)) {
      std::set<const FieldDecl *> OfLeft, OfRight;
      ByteCount L = count(B->getLHS(), OfLeft), R = count(B->getRHS(), OfRight);
      // A factor beside sizeof may be anything.
      bool Mul = B->getOpcode() == BO_Mul;
      if (Members && !(Mul && R == ByteCount::Scaled))
        Members->insert(OfLeft.begin(), OfLeft.end());
      if (Members && !(Mul && L == ByteCount::Scaled && R != ByteCount::Scaled))
        Members->insert(OfRight.begin(), OfRight.end());
      if (B->getOpcode() == BO_Mul && std::max(L, R) != ByteCount::Unclear)
        return std::max(L, R);
      if (B->isAdditiveOp() && std::min(L, R) != ByteCount::Unclear)
        return std::min(L, R);
      if (B->getOpcode() == BO_Shl && L != ByteCount::Unclear)
        return L;
    }
    if (const ConditionalOperator *C = dyn_cast<ConditionalOperator>(E))
      return std::min(count(C->getTrueExpr()), count(C->getFalseExpr()));
    if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E))
      if (std::optional<ByteCount> Value = variable(R))
        return *Value;
    if (const MemberExpr *M = dyn_cast<MemberExpr>(E); M && isa<FieldDecl>(M->getMemberDecl())) {
      if (Members)
        Members->insert(cast<FieldDecl>(M->getMemberDecl()));
      unsigned Key = M->getMemberDecl()->getLocation().getRawEncoding();
      auto At = Facts.MemberValues.find(Key);
      if (At != Facts.MemberValues.end() && !Facts.UnclearMembers.count(Key))
        return all(Key, At->second);
    }
    Expr::EvalResult Result;
    if (E->EvaluateAsInt(Result, Context)) {
      llvm::APSInt Value = Result.Val.getInt();
      uint64_t Size = Context.getTypeSizeInChars(Element).getQuantity();
      if (Value.getZExtValue() % Size == 0)
        return ByteCount::Whole;
    }
    return ByteCount::Unclear;
  }

private:
  /// With the members that \p E alone depends on.
  ByteCount count(const Expr *E, std::set<const FieldDecl *> &Own) {
    std::set<const FieldDecl *> *Outer = std::exchange(Members, &Own);
    ByteCount Out = count(E);
    Members = Outer;
    return Out;
  }
  std::optional<ByteCount> variable(const DeclRefExpr *R) {
    const VarDecl *V = dyn_cast<VarDecl>(R->getDecl());
    const ParmVarDecl *P = dyn_cast_or_null<ParmVarDecl>(V);
    if (V && isModified(Facts, V)) {
      const Expr *Value = reachingValue(R, Facts, const_cast<ASTContext &>(Context));
      return Value ? std::optional(count(Value)) : std::nullopt;
    }
    if (V && !P && V->getAnyInitializer())
      return count(V->getAnyInitializer());
    const FunctionDecl *F = P ? dyn_cast<FunctionDecl>(P->getDeclContext()) : nullptr;
    if (!F || !callsSeen(F, P))
      return std::nullopt;
    auto At = Facts.Arguments.find(P);
    if (At == Facts.Arguments.end() || At->second.empty())
      return std::nullopt;
    return all(P->getLocation().getRawEncoding(), At->second);
  }
  bool callsSeen(const FunctionDecl *F, const ParmVarDecl *P) const {
    const CXXMethodDecl *Method = dyn_cast<CXXMethodDecl>(F);
    return (Facts.Alone || !F->isExternallyVisible()) && !F->isOverloadedOperator() && !(Method && Method->isVirtual()) &&
           !Facts.CalledUnseen.count(P->getLocation().getRawEncoding());
  }
  /// What gets only \p Values. Where one of them is its own value, that one says nothing new.
  ByteCount all(unsigned Key, llvm::ArrayRef<const Expr *> Values) {
    ByteCount All = ByteCount::Scaled;
    if (!Active.insert(Key).second)
      return All;
    for (const Expr *Value : Values)
      if (All != ByteCount::Unclear)
        All = std::min(All, count(Value));
    Active.erase(Key);
    return All;
  }

  static constexpr unsigned MaxSteps = 2000;
  QualType Element;
  const ASTContext &Context;
  const UnitFacts &Facts;
  std::set<const FieldDecl *> *Members;
  std::set<unsigned> Active; ///< members and parameters on the way here
  unsigned Steps = 0;
};

} // namespace

ByteCount byteCount(const Expr *Bytes, QualType Element, const ASTContext &Context, const UnitFacts &Facts,
                    std::set<const FieldDecl *> *Members) {
  return ByteCounter(Element, Context, Facts, Members).count(Bytes);
}

namespace {

class Observer : public DynamicRecursiveASTVisitor {
public:
  Observer(const CXXRecordDecl *Record, ASTContext &Context, const SourceView &View, const UnitFacts &Facts)
      : Record(Record), Context(Context), View(View), Facts(Facts) {
    ShouldVisitTemplateInstantiations = true;
  }

  bool VisitUnaryExprOrTypeTraitExpr(UnaryExprOrTypeTraitExpr *E) override {
    if (!isRecord(element(E->getTypeOfArgument()), Record))
      return true;
    if (E->getKind() != UETT_SizeOf)
      return see(E->getExprLoc(), "the alignment of the record is asked for");
    return scales(E) || see(E->getExprLoc(), "the size of the record is used outside of allocations and copies");
  }
  bool VisitOffsetOfExpr(OffsetOfExpr *E) override {
    return !isRecord(E->getTypeSourceInfo()->getType(), Record) || see(E->getExprLoc(), "offsetof is applied to the record");
  }
  bool VisitFieldDecl(FieldDecl *F) override {
    return !isRecord(element(F->getType()), Record) ||
           see(F->getLocation(), "the record is part of another record");
  }
  bool VisitFunctionDecl(FunctionDecl *F) override {
    bool Takes = points(F->getReturnType()) || llvm::any_of(F->parameters(), [&](const ParmVarDecl *P) { return points(P->getType()); });
    if (Takes && !F->isDefined() && View.isUserCode(F->getLocation()) && !F->isDependentContext())
      notSeen(F, "a function takes the record, and its body is not seen");
    return true;
  }
  bool VisitVarDecl(VarDecl *V) override {
    if (points(V->getType()) && V->hasExternalStorage() && !V->hasDefinition())
      notSeen(V, "a variable with the record's type is shared with code that is not seen");
    return true;
  }
  bool VisitCXXRecordDecl(CXXRecordDecl *D) override {
    if (!D->isThisDeclarationADefinition())
      return true;
    for (const CXXBaseSpecifier &B : D->bases())
      if (isRecord(B.getType(), Record))
        return see(D->getLocation(), "another record derives from it");
    return true;
  }
  bool VisitCastExpr(CastExpr *E) override {
    QualType From = E->getSubExpr()->getType(), To = E->getType();
    bool FromIs = points(From), ToIs = points(To);
    if (FromIs == ToIs)
      return true;
    if (FromIs && (To->isBooleanType() || To->isVoidType()))
      return true;
    if (ToIs && E->getSubExpr()->isNullPointerConstant(Context, Expr::NPC_ValueDependentIsNull))
      return true;
    const Expr *Outer = E;
    const CallExpr *Call = nullptr;
    const Expr *Inner = E->getSubExpr()->IgnoreParenImpCasts();
    if (ToIs)
      Call = dyn_cast<CallExpr>(Inner); // (P *)malloc(n)
    for (auto Parents = Context.getParents(*Outer); !Call && FromIs && !Parents.empty(); Parents = Context.getParents(*Outer)) {
      Call = Parents[0].get<CallExpr>();
      Outer = Parents[0].get<CastExpr>();
      if (!Outer)
        break;
    }
    if (Call && isMemoryFunction(Call->getDirectCallee()))
      return followsSize(Call) || see(Call->getExprLoc(), "this byte count does not follow the record's size");
    if (FromIs && To->isVoidPointerType() && comparesToNull(E))
      return true;
    return see(E->getExprLoc(), "the record is seen through a pointer of another type");
  }

  SizeObservers Found;

private:
  bool see(SourceLocation L, std::string Why) {
    Found.First = Refusal{"", View.where(L), std::move(Why)};
    return false;
  }
  void notSeen(const NamedDecl *D, std::string Why) {
    Found.Unseen.push_back({symbolOf(D), {"", View.where(D->getLocation()), std::move(Why)}});
  }
  bool points(QualType T) const {
    T = T.getNonReferenceType();
    while (T->isPointerType() || T->isArrayType())
      T = T->isPointerType() ? T->getPointeeType() : QualType(T->getArrayElementTypeNoTypeQual(), 0);
    return isRecord(T, Record);
  }
  bool isMemoryFunction(const FunctionDecl *F) const {
    if (!F || !F->getDeclName().isIdentifier())
      return false;
    if (allocatedBytes(F, View, Context))
      return true;
    llvm::StringRef Name = F->getName();
    for (llvm::StringRef Known : {"malloc", "calloc", "realloc", "aligned_alloc", "free", "memcpy", "memmove", "memset"})
      if (Name == Known)
        return true;
    return Name.starts_with("cudaMalloc") || Name.starts_with("cudaFree") || Name.starts_with("cudaMemcpy") ||
           Name.starts_with("cudaMemset") || Name == "cudaMemPrefetchAsync" || Name == "cudaMemAdvise" || Name.starts_with("cudaHostAlloc") || Name.starts_with("cudaHost");
  }
  /// The call has no byte count, or one in units of sizeof the record.
  bool followsSize(const CallExpr *Call) const {
    bool Any = false;
    for (const Expr *Argument : Call->arguments()) {
      if (!Argument->getType()->isIntegerType())
        continue;
      Any = true;
      if (byteCount(Argument, Context.getCanonicalTagType(Record), Context, Facts) == ByteCount::Scaled)
        return true;
    }
    return !Any;
  }
  bool comparesToNull(const Expr *E) {
    auto Parents = Context.getParents(*E);
    const BinaryOperator *B = Parents.empty() ? nullptr : Parents[0].get<BinaryOperator>();
    return B && B->isEqualityOp();
  }
  /// The value of \p E only reaches byte counts of allocations and copies.
  bool scales(const Expr *E, unsigned Depth = 0) {
    const Expr *Child = E;
    while (Depth < MaxDepth) {
      auto Parents = Context.getParents(*Child);
      if (Parents.empty())
        return false;
      if (const VarDecl *V = Parents[0].get<VarDecl>())
        return usesScale(V, Depth);
      const Expr *P = Parents[0].get<Expr>();
      if (const CallExpr *C = dyn_cast_or_null<CallExpr>(P)) {
        if (isMemoryFunction(C->getDirectCallee()))
          return true;
        const FunctionDecl *F = C->getDirectCallee();
        unsigned Argument = std::find(C->arg_begin(), C->arg_end(), Child) - C->arg_begin();
        const FunctionDecl *Definition = nullptr;
        if (!F || !F->hasBody(Definition) || Argument >= Definition->getNumParams())
          return false;
        return usesScale(Definition->getParamDecl(Argument), Depth);
      }
      const BinaryOperator *B = dyn_cast_or_null<BinaryOperator>(P);
      bool Arithmetic = B && (B->getOpcode() == BO_Mul || B->isAdditiveOp() || B->getOpcode() == BO_Shl);
      if (!P || !(Arithmetic || isa<ParenExpr, CastExpr, ConditionalOperator>(P)))
        return false;
      Child = P;
    }
    return false;
  }
  bool usesScale(const VarDecl *V, unsigned Depth) {
    if (isModified(Facts, V) || !V->getType()->isIntegerType())
      return false;
    struct Refs : DynamicRecursiveASTVisitor {
      const VarDecl *V;
      std::vector<const Expr *> Found;
      bool VisitDeclRefExpr(DeclRefExpr *E) override {
        if (E->getDecl() == V)
          Found.push_back(E);
        return true;
      }
    } R;
    R.V = V;
    if (const FunctionDecl *F = dyn_cast<FunctionDecl>(V->getDeclContext()); F && F->hasBody())
      R.TraverseStmt(F->getBody());
    else
      return false;
    return llvm::all_of(R.Found, [&](const Expr *E) { return scales(E, Depth + 1); });
  }

  const CXXRecordDecl *Record;
  ASTContext &Context;
  const SourceView &View;
  const UnitFacts &Facts;
};

} // namespace

SizeObservers sizeObservers(const CXXRecordDecl *Record, llvm::ArrayRef<Decl *> Scope, ASTContext &Context,
                                    const SourceView &View, const UnitFacts &Facts) {
  Observer O(Record, Context, View, Facts);
  for (Decl *D : Scope)
    if (!isFieldCopyCode(D, View) && !O.TraverseDecl(D))
      break;
  return O.Found;
}

} // namespace restride
