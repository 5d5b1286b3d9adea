#include "analysis/program/OriginFills.h"

#include "analysis/program/ArrayFills.h"
#include "analysis/program/Around.h"
#include "analysis/program/IndexOrigin.h"
#include "analysis/program/MemberRange.h"

#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace restride {

/// What the pointer \p P points to; null for anything else.
static QualType elementBehind(const ValueDecl *P) { return P->getType()->isPointerType() ? P->getType()->getPointeeType() : QualType(); }

/// More than any array has.
static constexpr uint64_t Largest = uint64_t(1) << 40;

/// An integer of each element of \p ElementBytes.
static Fill nearItsPlace(uint64_t ElementBytes) {
  Fill F;
  F.Loops.push_back({0, 1, Largest, int64_t(ElementBytes)});
  F.Guessed = true;
  constexpr int64_t Near = 7; // places that it is away at most, a mask
  using Op = FillNode::Op;
  F.Nodes = {{Op::Counter, 64, true, 0}, {Op::Unknown, 64, true}, {Op::Constant, 64, true, Near}, {Op::And, 64, true, 0, 1, 2}, {Op::Add, 64, true, 0, 0, 3}};
  return F;
}

/// The same number in all of them.
static Fill alike(int64_t Value, uint64_t ElementBytes) {
  Fill F = nearItsPlace(ElementBytes);
  F.Guessed = false;
  F.Nodes = {{FillNode::Op::Constant, 64, true, Value}};
  return F;
}

/// One that is below \p Extent.
static Fill below(uint64_t Extent, uint64_t ElementBytes) {
  Fill F = alike(int64_t(Extent), ElementBytes);
  F.Below = true;
  return F;
}

/// By name, or with the record as a whole.
static bool isWrittenByDevice(const FieldDecl *F, const HostWrites &Host) {
  return Host.DeviceWrites.count(F) || Host.DeviceRecords.count(F->getParent()->getDefinition());
}

/// What stands for the integers of one member of which no more is known than that they come from \p Which.
static std::optional<Fill> fillByOrigin(const FieldDecl *Member, IndexOrigin Which, uint64_t RecordBytes, const HostWrites &Host, const Evaluator &Values, const UnitFacts &Facts, ASTContext &Context) {
  const unsigned Key = Member->getLocation().getRawEncoding();
  const bool Drawn = Which == IndexOrigin::Drawn;
  if (!Facts.Subscripts.count(Key) || (!Drawn && Facts.Bounds.count(Key)) || indexOrigin(Member, Host, Values, Facts, Context) != Which)
    return std::nullopt;
  return Drawn ? below(Largest, RecordBytes) : nearItsPlace(RecordBytes);
}

/// Adds what \p Each says of an integer member of the record behind \p P of whose value \p Known says nothing.
static void forUnknown(const ValueDecl *P, std::vector<Fill> &Known, ASTContext &Context,
                       llvm::function_ref<std::optional<Fill>(const FieldDecl *, uint64_t)> Each, std::string &Names) {
  const QualType Element = elementBehind(P);
  const RecordDecl *Record = Element.isNull() || Element->isDependentType() || Element->isIncompleteType() ? nullptr : Element->getAsRecordDecl();
  if (!Record)
    return;
  const uint64_t Size = Context.getTypeSizeInChars(Element).getQuantity();
  for (const FieldDecl *F : Record->getDefinition()->fields()) {
    const uint64_t Offset = F->isBitField() ? 0 : Context.toCharUnitsFromBits(Context.getFieldOffset(F)).getQuantity();
    if (F->isBitField() || !F->getType()->isIntegerType() || llvm::any_of(Known, [&](const Fill &One) { return One.Begin % Size == Offset && !One.Shuffled; }))
      continue;
    if (std::optional<Fill> One = Each(F, Size)) {
      One->Begin = Offset;
      One->Bytes = Context.getTypeSizeInChars(F->getType()).getQuantity();
      Names += (Names.empty() ? "'" : ", '") + P->getName().str() + "." + F->getName().str() + "'";
      Known.push_back(std::move(*One));
    }
  }
}

/// Kernels fill it with members of other records, `item.first = vertices[queue[i]].first`, and so in no order.
static bool isCopied(const FieldDecl *Member, const UnitFacts &Facts) {
  const unsigned Key = Member->getLocation().getRawEncoding();
  auto At = Facts.MemberValues.find(Key);
  return Facts.Subscripts.count(Key) && At != Facts.MemberValues.end() && llvm::any_of(At->second, [&](const Expr *Value) {
    const MemberExpr *Other = dyn_cast<MemberExpr>(Value->IgnoreParenCasts());
    const FieldDecl *F = Other ? dyn_cast<FieldDecl>(Other->getMemberDecl()) : nullptr;
    return F && F->getParent() != Member->getParent() && isa<ArraySubscriptExpr>(Other->getBase()->IgnoreParenImpCasts());
  });
}

std::string addFillsByOrigin(const ValueDecl *P, IndexOrigin Which, std::vector<Fill> &Known, const HostWrites &Host, const Evaluator &Values,
                             const UnitFacts &Facts, ASTContext &Context) {
  std::string Names;
  auto ByOrigin = [&](const FieldDecl *F, uint64_t RecordBytes) -> std::optional<Fill> {
    const bool OnDevice = isWrittenByDevice(F, Host);
    if (Context.getTypeSize(F->getType()) < 32)
      return std::nullopt;
    if (OnDevice)
      return Which == IndexOrigin::Drawn && isCopied(F, Facts) ? std::optional(below(Largest, RecordBytes)) : std::nullopt;
    return fillByOrigin(F, Which, RecordBytes, Host, Values, Facts, Context);
  };
  forUnknown(P, Known, Context, ByOrigin, Names);
  return Names;
}

std::string addFillsByExtent(const ValueDecl *P, std::vector<Fill> &Known, const UnitFacts &Facts, ASTContext &Context) {
  std::string Names;
  auto extent = [&](const ValueDecl *D) {
    auto At = Facts.Extents.find(D->getLocation().getRawEncoding());
    return At == Facts.Extents.end() ? std::nullopt : std::optional(At->second);
  };
  forUnknown(P, Known, Context, [&](const FieldDecl *F, uint64_t RecordBytes) {
    const std::optional<uint64_t> Extent = extent(F);
    return Extent ? std::optional(below(*Extent, RecordBytes)) : std::nullopt;
  }, Names);
  const QualType Element = elementBehind(P);
  if (const std::optional<uint64_t> Extent = extent(P); Extent && llvm::all_of(Known, [](const Fill &One) { return One.Shuffled; }) && !Element.isNull() && Element->isIntegerType()) {
    const uint64_t Bytes = Context.getTypeSizeInChars(Element).getQuantity();
    Known.push_back(below(*Extent, Bytes));
    Known.back().Bytes = unsigned(Bytes);
    Names = "'" + P->getName().str() + "'";
  }
  return Names;
}

std::string addFillsByRange(const ValueDecl *P, std::vector<Fill> &Known, const Evaluator &Values, const UnitFacts &Facts, ASTContext &Context) {
  constexpr uint64_t Small = 1 << 12;
  std::string Names;
  forUnknown(P, Known, Context, [&](const FieldDecl *F, uint64_t RecordBytes) -> std::optional<Fill> {
    if (!Facts.Bounds.count(F->getLocation().getRawEncoding()))
      return std::nullopt;
    const std::optional<uint64_t> Largest = largestGiven(F, Values, Facts, Context);
    return Largest && *Largest < Small ? std::optional(below(*Largest + 1, RecordBytes)) : std::nullopt;
  }, Names);
  return Names;
}

/// The one constant that is written, but for what is under conditions; none: there are several.
static std::optional<int64_t> firstOf(llvm::ArrayRef<const HostWrite *> Writes, ASTContext &Context) {
  std::optional<int64_t> Out;
  for (const HostWrite *W : Writes) {
    if (isConditional(W->At, Context))
      continue;
    Expr::EvalResult Result;
    if (!W->Value || (!isa<ImplicitValueInitExpr>(W->Value) && !W->Value->EvaluateAsInt(Result, Context)))
      return std::nullopt;
    const int64_t Value = isa<ImplicitValueInitExpr>(W->Value) ? 0 : Result.Val.getInt().getExtValue();
    if (Out && *Out != Value)
      return std::nullopt;
    Out = Value;
  }
  return Out;
}

/// The constant that \p E is, also where nobody writes it; none: it is no constant.
static std::optional<int64_t> constantOf(const Expr *E, ASTContext &Context) {
  const std::optional<llvm::APSInt> Value = isa<ImplicitValueInitExpr>(E) ? llvm::APSInt::get(0) : E->getIntegerConstantExpr(Context);
  return Value ? std::optional(Value->getExtValue()) : std::nullopt;
}

/// `true`, `x > limit`, `x > limit ? LOST : THERE`
static bool isOneOfFew(const Expr *E, ASTContext &Context) {
  E = E->IgnoreParenImpCasts();
  if (const ConditionalOperator *C = dyn_cast<ConditionalOperator>(E))
    return isOneOfFew(C->getTrueExpr(), Context) && isOneOfFew(C->getFalseExpr(), Context);
  const BinaryOperator *B = dyn_cast<BinaryOperator>(E);
  return (B && (B->isComparisonOp() || B->isLogicalOp())) || constantOf(E, Context);
}

/// The program gives \p F nothing but constants, one or another, and sets and clears bits in it: it counts nothing and adds nothing up.
static bool isFlag(const FieldDecl *F, const UnitFacts &Facts, ASTContext &Context) {
  const auto Changes = Facts.MemberChanges.find(F->getLocation().getRawEncoding());
  const bool Constant = llvm::all_of(givenTo(F, Facts), [&](const Expr *E) { return isOneOfFew(E, Context); });
  return Constant && (Changes == Facts.MemberChanges.end() || llvm::all_of(Changes->second, [&](const Expr *E) {
    const CompoundAssignOperator *C = dyn_cast_or_null<CompoundAssignOperator>(parentOf(E, Context));
    return C && C->getLHS() == E && (C->getOpcode() == BO_OrAssign || C->getOpcode() == BO_AndAssign);
  }));
}

/// The one constant that code of the host gives \p F, whatever it does with the record then; none: several, or none.
static std::optional<int64_t> constantOfHost(const FieldDecl *F, const UnitFacts &Facts, ASTContext &Context) {
  std::optional<int64_t> Out;
  for (const Expr *E : givenTo(F, Facts)) {
    const FunctionDecl *Around = functionAround(E, Context);
    if (Around && !runsOnHost(Around))
      continue;
    const std::optional<int64_t> Value = constantOf(E, Context);
    if (!Value || (Out && *Out != *Value))
      return std::nullopt;
    Out = Value;
  }
  return Out;
}

/// How many of the integers \p F, that the host begins with \p First and kernels change, are still that in the mean; none:
/// nobody can say. Flags mostly are: springs that are not broken, agents that are in the building. What a negative number
/// says is not there yet (`reef = -1`) comes to some, and the others wait for it. What kernels compare may come out either way.
static std::optional<double> staysAsItBegins(const FieldDecl *F, bool IsFlag, int64_t First, const UnitFacts &Facts, ASTContext &Context) {
  constexpr double Mostly = 0.875, Even = 0.5;
  if (!IsFlag)
    return First < 0 ? std::optional(Even) : std::nullopt;
  return llvm::all_of(givenTo(F, Facts), [&](const Expr *E) { return constantOf(E, Context); }) ? Mostly : Even;
}

/// Numbers that loops are bounded by, as the host begins with them; none: with zeros, which kernels count up, or nobody can say.
static std::optional<Fill> countsAsTheyBegin(std::vector<Fill> First) {
  if (First.empty() || First.front().Shuffled)
    return std::nullopt;
  constexpr uint64_t Samples = 64;
  double Sum = 0;
  for (uint64_t K = 0; K < Samples; ++K) {
    std::vector<uint64_t> Trips;
    for (const FillLoop &L : First.front().Loops)
      Trips.push_back(L.Trips / Samples * K + L.Trips % Samples * K / Samples);
    Sum += double(First.front().value(Trips));
  }
  return Sum > Samples / 2 && Sum < double(Largest) ? std::optional(std::move(First.front())) : std::nullopt;
}

std::string addFillsByFirst(const ValueDecl *P, const ValueDecl *Source, std::vector<Fill> &Known, const HostWrites &Host, const Evaluator &Values,
                            const UnitFacts &Facts, ASTContext &Context) {
  std::map<int64_t, std::vector<const HostWrite *>> Writes = writesByOffset(Source, Host, &HostWrites::Writes);
  std::string Names;
  forUnknown(P, Known, Context, [&](const FieldDecl *F, uint64_t RecordBytes) -> std::optional<Fill> {
    const unsigned Key = F->getLocation().getRawEncoding();
    const bool AsRecord = Host.DeviceRecords.count(F->getParent()->getDefinition()), IsFlag = isFlag(F, Facts, Context);
    if (AsRecord ? !IsFlag : !Host.DeviceWrites.count(F))
      return std::nullopt;
    const int64_t Offset = Context.toCharUnitsFromBits(Context.getFieldOffset(F)).getQuantity();
    std::optional<Fill> Counts;
    if (Facts.Bounds.count(Key) && !AsRecord)
      Counts = countsAsTheyBegin(firstFillsOf(Source, elementBehind(P), Offset, Host, Values, Facts, Context));
    if (Counts || (Facts.Bounds.count(Key) && !IsFlag))
      return Counts;
    if (Facts.Subscripts.count(Key))
      return std::nullopt;
    std::optional<int64_t> First = firstOf(Writes[Offset], Context);
    if (!First && IsFlag)
      First = constantOfHost(F, Facts, Context);
    const std::optional<double> Stays = First ? staysAsItBegins(F, IsFlag, *First, Facts, Context) : std::nullopt;
    if (!Stays)
      return std::nullopt;
    Fill Out = alike(*First, RecordBytes);
    Out.Stays = *Stays;
    return Out;
  }, Names);
  return Names;
}

std::string addFillsByCount(const ValueDecl *P, std::vector<Fill> &Known, const HostWrites &Host, const Evaluator &Values, const UnitFacts &Facts,
                            ASTContext &Context) {
  std::string Names;
  forUnknown(P, Known, Context, [&](const FieldDecl *F, uint64_t RecordBytes) -> std::optional<Fill> {
    if (!Facts.Bounds.count(F->getLocation().getRawEncoding()) || Host.DeviceRecords.count(F->getParent()->getDefinition()))
      return std::nullopt;
    const bool BeginsAsZero = llvm::all_of(givenTo(F, Facts), [&](const Expr *E) {
      const FunctionDecl *Around = functionAround(E, Context);
      return constantOf(E, Context) == 0 && !(Around && runsOnDevice(Around)); // kernels that count it up or down go on from there
    });
    if (!BeginsAsZero) // the end of a run, which counts from its begin on
      return std::nullopt;
    const std::optional<Estimate> Mean = Values.meanCount(F);
    return Mean && Mean->Value > 0 ? std::optional(alike(Mean->Value, RecordBytes)) : std::nullopt;
  }, Names);
  return Names;
}

namespace {

/// What the index of a place is looked up by.
struct LookedUp {
  std::vector<const Expr *> Keys; ///< `next[key]`
  bool Advances = false;          ///< `next[key]++`: the next of its key's places
};

} // namespace

static void findLookedUp(const Stmt *Index, LookedUp &Out, unsigned Depth = 0) {
  constexpr unsigned MaxDepth = 16;
  const CXXOperatorCallExpr *O = dyn_cast<CXXOperatorCallExpr>(Index);
  const ArraySubscriptExpr *S = dyn_cast<ArraySubscriptExpr>(Index);
  if (S || (O && O->getOperator() == OO_Subscript && O->getNumArgs() == 2)) {
    Out.Keys.push_back(S ? S->getIdx() : O->getArg(1));
    return;
  }
  const UnaryOperator *U = dyn_cast<UnaryOperator>(Index);
  Out.Advances |= U && U->isIncrementOp();
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(Index))
    if (const VarDecl *V = dyn_cast<VarDecl>(R->getDecl()); V && V->isLocalVarDecl() && V->getInit() && Depth < MaxDepth)
      findLookedUp(V->getInit(), Out, Depth + 1);
  for (const Stmt *Child : Index->children())
    if (Child && Depth < MaxDepth)
      findLookedUp(Child, Out, Depth + 1);
}

std::optional<Fill> fillOfPlainArray(const ValueDecl *P, const ValueDecl *Source, const HostWrites &Host, const Evaluator &Values, const UnitFacts &Facts, ASTContext &Context) {
  const QualType Element = elementBehind(P);
  const auto Writes = Host.Writes.find(Source);
  const unsigned Key = P->getLocation().getRawEncoding();
  if (!Facts.Subscripts.count(Key) || Facts.Bounds.count(Key) || Element.isNull() || !Element->isIntegerType() || Context.getTypeSize(Element) < 32 || Writes == Host.Writes.end() || Host.Unclear.count(Source) ||
      Host.Shuffled.count(Source) || Host.DeviceWrites.count(P))
    return std::nullopt;
  std::vector<const Expr *> Gets;
  for (const HostWrite &W : Writes->second) {
    Gets.push_back(W.Value);
    if (W.Append)
      continue;
    if (W.Place.Indices.empty())
      return std::nullopt;
    LookedUp By;
    findLookedUp(W.Place.Indices.back().first, By);
    // The entries of a key lie together, in the order of keys.
    if (!By.Keys.empty() && (!By.Advances || indexOrigin(By.Keys, Host, Values, Facts, Context) != IndexOrigin::Counted))
      return std::nullopt;
  }
  if (llvm::is_contained(Gets, nullptr) || indexOrigin(Gets, Host, Values, Facts, Context) != IndexOrigin::Counted)
    return std::nullopt;
  Fill F = nearItsPlace(Context.getTypeSizeInChars(Element).getQuantity());
  F.Bytes = Context.getTypeSizeInChars(Element).getQuantity();
  return F;
}

} // namespace restride
