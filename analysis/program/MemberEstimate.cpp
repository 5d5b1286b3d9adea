// Members of objects, and elements of arrays, as numbers: programs keep sizes and
// steps in structs, `Grid g = {64, 1.0f / 64}`.

#include "analysis/program/Around.h"
#include "analysis/program/Evaluate.h"
#include "analysis/program/GpuProperties.h"
#include "analysis/program/PartUse.h"
#include "analysis/program/Returned.h"

#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"

#include <cmath>

using namespace clang;

namespace restride {

namespace {

/// While a part is evaluated, it is not followed again: `p.n = p.n * 2`.
class Visit {
public:
  using Key = std::pair<const Decl *, Part>;
  Visit(std::set<Key> &Active, Key K) : Active(Active), K(std::move(K)), Entered(Active.insert(this->K).second) {}
  ~Visit() {
    if (Entered)
      Active.erase(K);
  }
  explicit operator bool() const { return Entered; }

private:
  std::set<Key> &Active;
  const Key K;
  const bool Entered;
};

} // namespace

/// `cells[i]`, `cells.back()`; null is an element of an array whose index is not known.
static bool isElement(const Expr *Object) {
  const CXXOperatorCallExpr *C = dyn_cast_or_null<CXXOperatorCallExpr>(Object);
  return !Object || isa<CXXMemberCallExpr, ArraySubscriptExpr>(Object) || (C && C->getOperator() == OO_Subscript);
}

llvm::ArrayRef<const Expr *> givenTo(const FieldDecl *F, const UnitFacts &Facts) {
  if (auto At = Facts.InstanceValues.find(F); At != Facts.InstanceValues.end())
    return At->second;
  auto At = Facts.MemberValues.find(F->getLocation().getRawEncoding());
  return At != Facts.MemberValues.end() ? llvm::ArrayRef(At->second) : llvm::ArrayRef<const Expr *>();
}

/// The member is given values in several places.
static bool isSeveral(const FieldDecl *F, const UnitFacts &Facts) { return givenTo(F, Facts).size() > 1; }

template <typename T> std::optional<EstimateOf<T>> Evaluator::member(const MemberExpr *M, Frame In) const {
  if (const VarDecl *Static = dyn_cast<VarDecl>(M->getMemberDecl()))
    return variable<T>(Static, In.deeper());
  const FieldDecl *F = dyn_cast<FieldDecl>(M->getMemberDecl());
  if constexpr (std::is_same_v<T, int64_t>) {
    if (const std::optional<int64_t> OfGpu = F ? gpuProperty(F) : std::nullopt)
      return Estimate{*OfGpu, true};
    if (auto At = Trial.find(F); F && At != Trial.end())
      return At->second;
  }
  if (!F || (std::is_same_v<T, int64_t> && !F->getType()->isIntegralOrEnumerationType()))
    return std::nullopt;
  Part P;
  const Expr *Object = wholeOf(M, P, Context);
  std::optional<EstimateOf<T>> Value = Object ? part<T>(Object, P, In.deeper()) : std::nullopt;
  if (!Value && isElement(Object) && isSeveral(F, Facts)) // one of many
    return std::nullopt;
  return Value ? Value : anywhere<T>(F, {}, In.deeper());
}

template <typename T> std::optional<EstimateOf<T>> Evaluator::arrayElement(const ArraySubscriptExpr *E, Frame In) const {
  Part P;
  if (const Expr *Object = wholeOf(E, P, Context))
    return P.empty() ? std::nullopt : part<T>(Object, P, In.deeper());
  P.clear();
  const Expr *Base = E->getBase()->IgnoreParenImpCasts(), *Object = wholeOf(Base, P, Context);
  const ConstantArrayType *Array = Context.getAsConstantArrayType(Base->getType());
  constexpr uint64_t Most = 64;
  if (!Object || !Array || Array->isZeroSize() || Array->getZExtSize() > Most)
    return std::nullopt;
  const uint64_t Count = Array->getZExtSize();
  const std::optional<Estimate> Index = integer(E->getIdx(), In.deeper());
  P.push_back(0);
  if (Index && !Index->Assumed.changes() && Index->Value >= 0 && uint64_t(Index->Value) < Count) {
    P.back() = uint64_t(Index->Value);
    return part<T>(Object, P, In.deeper());
  }
  // `radius[pass]`: the mean, where a loop goes through them or nobody says which.
  double Sum = 0;
  for (; P.back() < Count; ++P.back()) {
    const std::optional<EstimateOf<T>> Value = part<T>(Object, P, In.deeper());
    if (!Value)
      return std::nullopt;
    Sum += double(Value->Value);
  }
  const double Mean = Sum / double(Count);
  return EstimateOf<T>{std::is_same_v<T, int64_t> ? T(std::llround(Mean)) : T(Mean), Doubt::Changes};
}

template <typename T> std::optional<EstimateOf<T>> Evaluator::ofAnyObject(const CXXRecordDecl *Class, llvm::ArrayRef<uint64_t> P, Frame In) const {
  llvm::SmallVector<const FieldDecl *, 4> Steps;
  while (Class && Steps.size() < P.size()) {
    const size_t At = P[Steps.size()];
    auto Field = llvm::find_if(Class->fields(), [&](const FieldDecl *F) { return F->getFieldIndex() == At; });
    if (Field == Class->field_end())
      break;
    Steps.push_back(*Field);
    Class = (*Field)->getType()->getAsCXXRecordDecl();
  }
  std::optional<EstimateOf<T>> Zero; // of `Grid g = {};`, whose members are then filled
  for (size_t I = 0; I < Steps.size(); ++I) {
    std::optional<EstimateOf<T>> Value = anywhere<T>(Steps[I], P.drop_front(I + 1), In);
    if (Value && (Value->Value != 0 || I + 1 == Steps.size())) {
      Value->Assumed |= Zero ? Doubt::Changes : Doubt::None;
      return Value;
    }
    if (Value)
      Zero = Value;
  }
  const unsigned Last = Zero ? Steps.back()->getLocation().getRawEncoding() : 0;
  return Zero && (Facts.MemberValues.count(Last) || Facts.UnclearMembers.count(Last)) ? std::nullopt : Zero;
}

template <typename T> std::optional<EstimateOf<T>> Evaluator::anywhere(const FieldDecl *F, llvm::ArrayRef<uint64_t> P, Frame In) const {
  const unsigned Key = F->getLocation().getRawEncoding();
  const llvm::ArrayRef<const Expr *> All = givenTo(F, Facts);
  Visit Once(Active, {F, Part(P.begin(), P.end())});
  if (!Once || In.Depth > MaxDepth || Context.getSourceManager().isInSystemHeader(F->getLocation())) // int3's x
    return std::nullopt;
  if constexpr (std::is_same_v<T, int64_t>)
    if (All.empty() && P.empty()) // begins as zero, in a container
      return meanCount(F, Frame{{}, {}, nullptr, In.Depth + 1});
  if (All.empty())
    return std::nullopt;
  // What stands in the class is what holds where nobody says anything else.
  const Expr *Default = F->getInClassInitializer();
  std::optional<EstimateOf<T>> One;
  Doubt Assumed = Facts.UnclearMembers.count(Key) ? Doubt::Changes : Doubt::None;
  bool IsZero = false;
  for (const Expr *Given : All) {
    if (Given == Default && All.size() > 1)
      continue;
    std::optional<EstimateOf<T>> Next = part<T>(Given, P, Frame{{}, {}, nullptr, In.Depth + 1});
    Assumed |= Next ? Next->Assumed : Doubt::Changes;
    if (Next && Next->Value == 0) { // until somebody says more
      IsZero = true;
      continue;
    }
    if (Next && One && One->Value != Next->Value)
      return std::nullopt;
    One = Next ? Next : One;
  }
  if (One && IsZero)
    Assumed |= Doubt::Changes;
  if (!One && IsZero)
    One = EstimateOf<T>{0, false};
  if constexpr (std::is_same_v<T, int64_t>)
    if (auto Changed = Facts.MemberChanges.find(Key); One && P.empty() && Changed != Facts.MemberChanges.end()) {
      const std::optional<Estimate> Counted = One->Value == 0 ? meanCount(F, Frame{{}, {}, nullptr, In.Depth + 1}) : std::nullopt;
      const std::optional<Estimate> Grown = Counted ? Counted : grown(F, Changed->second, *One, Frame{{}, {}, nullptr, In.Depth + 1});
      One->Value = Grown ? Grown->Value : One->Value;
    }
  if (One)
    One->Assumed = Assumed;
  return One;
}

/// What the constructor \p Body assigns to the part \p P of its object, and how many of P's steps lead there.
static std::pair<const Expr *, size_t> assignedIn(const Stmt *Body, llvm::ArrayRef<uint64_t> P, const ASTContext &Context) {
  std::pair<const Expr *, size_t> Out = {nullptr, 0};
  for (const Stmt *S : Body->children()) {
    const Expr *E = dyn_cast_or_null<Expr>(S);
    const Expr *To = nullptr, *Value = nullptr;
    if (const FullExpr *Full = dyn_cast_or_null<FullExpr>(E))
      E = Full->getSubExpr();
    if (const BinaryOperator *B = dyn_cast_or_null<BinaryOperator>(E); B && B->getOpcode() == BO_Assign)
      To = B->getLHS(), Value = B->getRHS();
    else if (const CXXOperatorCallExpr *C = dyn_cast_or_null<CXXOperatorCallExpr>(E); C && C->getOperator() == OO_Equal)
      To = C->getArg(0), Value = C->getArg(1);
    Part Steps;
    const Expr *Object = To ? wholeOf(To, Steps, Context) : nullptr;
    if (isa_and_nonnull<CXXThisExpr>(Object) && Steps.size() <= P.size() && P.take_front(Steps.size()).equals(Steps))
      Out = {Value, Steps.size()};
  }
  return Out;
}

template <typename T> std::optional<EstimateOf<T>> Evaluator::constructed(const CXXConstructExpr *C, llvm::ArrayRef<uint64_t> P, Frame In) const {
  const CXXConstructorDecl *Constructor = C->getConstructor();
  if (Constructor->isCopyOrMoveConstructor() && C->getNumArgs())
    return part<T>(C->getArg(0), P, In.deeper());
  if (Constructor->getParent()->getNumBases())
    return std::nullopt;
  const FieldDecl *Field = nullptr;
  for (const FieldDecl *F : Constructor->getParent()->fields())
    if (F->getFieldIndex() == P.front())
      Field = F;
  if (const FunctionDecl *Definition = nullptr; Constructor->hasBody(Definition)) {
    const Frame Inside = In.into(Definition, llvm::ArrayRef(C->getArgs(), C->getNumArgs()));
    if (const auto [Value, Known] = assignedIn(Definition->getBody(), P, Context); Value)
      return part<T>(Value, P.drop_front(Known), Inside);
    for (const CXXCtorInitializer *I : cast<CXXConstructorDecl>(Definition)->inits())
      if (Field && I->getMember() == Field && I->getInit())
        return part<T>(I->getInit(), P.drop_front(), Inside);
  }
  const Expr *Default = Field ? Field->getInClassInitializer() : nullptr;
  return Default ? part<T>(Default, P.drop_front(), In.deeper()) : std::nullopt;
}

template <typename T> std::optional<EstimateOf<T>> Evaluator::part(const Expr *E, llvm::ArrayRef<uint64_t> P, Frame In) const {
  if (In.Depth > MaxDepth || !PartsLeft || E->isValueDependent())
    return std::nullopt;
  --PartsLeft;
  if (isa<ImplicitValueInitExpr>(E))
    return EstimateOf<T>{0, false};
  if (const CXXDefaultInitExpr *D = dyn_cast<CXXDefaultInitExpr>(E))
    return part<T>(D->getExpr(), P, In.deeper());
  if (P.empty())
    return value<T>(E, In);
  E = E->IgnoreParens();
  if (const FullExpr *Full = dyn_cast<FullExpr>(E))
    return part<T>(Full->getSubExpr(), P, In.deeper());
  if (const MaterializeTemporaryExpr *M = dyn_cast<MaterializeTemporaryExpr>(E))
    return part<T>(M->getSubExpr(), P, In.deeper());
  if (const CastExpr *C = dyn_cast<CastExpr>(E)) // of an object or its address to const, of an array to its address
    return C->getCastKind() == CK_BitCast ? std::nullopt : part<T>(C->getSubExpr(), P, In.deeper());
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E))
    return U->getOpcode() == UO_AddrOf || U->getOpcode() == UO_Deref ? part<T>(U->getSubExpr(), P, In.deeper()) : std::nullopt;
  if (const CXXConstructExpr *C = dyn_cast<CXXConstructExpr>(E))
    return constructed<T>(C, P, In);
  llvm::ArrayRef<Expr *> Inits;
  if (const InitListExpr *L = dyn_cast<InitListExpr>(E)) {
    if (L->isSyntacticForm() && L->getSemanticForm())
      L = L->getSemanticForm();
    if (L->getType()->isArrayType() && P.front() >= L->getNumInits())
      return L->hasArrayFiller() ? part<T>(L->getArrayFiller(), P.drop_front(), In.deeper()) : std::nullopt;
    Inits = L->inits();
  } else if (const CXXParenListInitExpr *L = dyn_cast<CXXParenListInitExpr>(E))
    Inits = L->getInitExprs();
  if (!Inits.empty()) {
    const CXXRecordDecl *Record = E->getType()->getAsCXXRecordDecl();
    if ((Record && (Record->isUnion() || Record->getNumBases())) || P.front() >= Inits.size())
      return std::nullopt;
    return part<T>(Inits[P.front()], P.drop_front(), In.deeper());
  }
  if (isa<MemberExpr, ArraySubscriptExpr>(E)) {
    Part Whole(P.begin(), P.end());
    const Expr *Object = wholeOf(E, Whole, Context);
    return Object ? part<T>(Object, Whole, In.deeper()) : std::nullopt;
  }
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E)) {
    const VarDecl *V = dyn_cast<VarDecl>(R->getDecl());
    return V ? partOfVariable<T>(V, P, In) : std::nullopt;
  }
  if (isa<CXXThisExpr>(E))
    return In.This ? part<T>(In.This, P, In.around()) : ofAnyObject<T>(E->getType()->getPointeeCXXRecordDecl(), P, In.deeper());
  // `Grid g = gridOf(n)`: what stands at the function's end, but for those of CUDA's own vectors.
  const CallExpr *C = dyn_cast<CallExpr>(E);
  const FunctionDecl *F = C ? C->getDirectCallee() : nullptr;
  if (!F || isa<CXXMethodDecl>(F))
    return std::nullopt;
  if (F->getDeclName().isIdentifier() && F->getName().starts_with("make_") && P.front() < C->getNumArgs() && F->getReturnType()->isRecordType() &&
      Context.getSourceManager().isInSystemHeader(F->getLocation()))
    return part<T>(C->getArg(P.front()), P.drop_front(), In.deeper()); // make_float3
  const Expr *Value = lastReturned(F);
  return Value ? part<T>(Value, P, In.into(F, llvm::ArrayRef(C->getArgs(), C->getNumArgs()))) : std::nullopt;
}

template <typename T> std::optional<EstimateOf<T>> Evaluator::partOfVariable(const VarDecl *V, llvm::ArrayRef<uint64_t> P, Frame In) const {
  const unsigned Key = V->getLocation().getRawEncoding();
  Visit Once(Active, {V, Part(P.begin(), P.end())});
  if (!Once)
    return std::nullopt;
  std::optional<EstimateOf<T>> Value;
  unsigned Given = 0; // values, but for what nobody wrote
  bool Changes = false;
  std::vector<const Expr *> Members; ///< of them, those of one of its members
  if (const ParmVarDecl *Parameter = dyn_cast<ParmVarDecl>(V)) {
    if (const Expr *Argument = In.argument(Parameter))
      return part<T>(Argument, P, In.around());
    auto At = Facts.Arguments.find(Parameter);
    if (At == Facts.Arguments.end())
      return std::nullopt;
    for (const Expr *Argument : At->second) {
      std::optional<EstimateOf<T>> Next = part<T>(Argument, P, In.deeper());
      if (!Next || (Value && Value->Value != Next->Value))
        return std::nullopt;
      Value = Next;
    }
    Given = 1;
  } else if (const Expr *Init = V->getAnyInitializer())
    Value = part<T>(Init, P, In.deeper());
  if (V->getType()->isReferenceType() || V->getType()->isPointerType())
    return Value;
  bool IsDefault = Value && Value->Value == 0 && !Given; // as of `Grid g = {};`, which is then filled
  if (!isa<ParmVarDecl>(V))
    Given += Value && !IsDefault;
  auto At = Facts.Modified.find(Key);
  for (const DeclRefExpr *R : At == Facts.Modified.end() ? std::vector<const DeclRefExpr *>() : At->second) {
    const PartUse Use = partUse(R, P, Context);
    if (Use.K == PartUse::Kind::Assigns) {
      std::optional<EstimateOf<T>> Next = part<T>(Use.Value, P.drop_front(Use.Known), In.deeper());
      if (Next && (!Value || IsDefault)) {
        Value = Next;
        IsDefault = false;
      }
      ++Given;
    }
    if (Use.K != PartUse::Kind::Changes)
      continue;
    Changes = true;
    if (const MemberExpr *M = dyn_cast_or_null<MemberExpr>(parentOf(R, Context)))
      Members.push_back(M);
  }
  if constexpr (std::is_same_v<T, int64_t>)
    if (Value && P.size() == 1 && !Members.empty())
      Value = grown(cast<MemberExpr>(Members.front())->getMemberDecl(), Members, *Value, In); // while (l.nx * l.nx < n) l.nx += 4;
  if (Value && Value->Value == 0 && (Changes || (IsDefault && Given))) // until somebody says more
    return std::nullopt;
  if (Value && !V->getType().isConstQualified())
    Value->Assumed |= Changes || Given > 1 ? Doubt::Changes : Doubt::None;
  return Value;
}

template <typename T> std::optional<EstimateOf<T>> Evaluator::partOrMember(const Expr *E, const Part &P, const FieldDecl *F) const {
  std::optional<EstimateOf<T>> Value = part<T>(E, P, Frame());
  return Value || !F ? Value : anywhere<T>(F, {}, Frame());
}

template std::optional<Estimate> Evaluator::member(const MemberExpr *M, Frame In) const;
template std::optional<RealEstimate> Evaluator::member(const MemberExpr *M, Frame In) const;
template std::optional<Estimate> Evaluator::arrayElement(const ArraySubscriptExpr *E, Frame In) const;
template std::optional<RealEstimate> Evaluator::arrayElement(const ArraySubscriptExpr *E, Frame In) const;
template std::optional<Estimate> Evaluator::partOrMember(const Expr *E, const Part &P, const FieldDecl *F) const;
template std::optional<RealEstimate> Evaluator::partOrMember(const Expr *E, const Part &P, const FieldDecl *F) const;

} // namespace restride
