#include "analysis/program/ArrayFills.h"

#include "analysis/program/Around.h"
#include "analysis/program/ContainerSize.h"
#include "analysis/program/FillFormula.h"

#include "clang/AST/ParentMapContext.h"
#include "clang/AST/StmtCXX.h"

using namespace clang;

namespace restride {

/// Trips of one loop, and bytes that one moves by: no array is larger.
static constexpr uint64_t Largest = uint64_t(1) << 40;

namespace {

/// What stands around a statement in its function.
struct Around {
  std::vector<Evaluator::CountedLoop> Loops; ///< the outermost first
  const Stmt *Outermost = nullptr;
  bool Conditional = false;
  bool Equal = false; ///< under the condition that two values are
};

/// A fill, and how much its writes say.
struct Written {
  Fill F;
  bool Unknown = false; ///< what it writes
  bool Conditional = false;
  bool Seldom = false; ///< where two values are equal
  double Times = 1;
};

} // namespace

/// The `if` around \p At asks whether two values are equal, and they are.
static bool whereEqual(const Stmt *At, ASTContext &Context) {
  bool Out = false;
  const Stmt *Child = At;
  goOutward(At, Context, [&](const DynTypedNode &Node) {
    const Stmt *Up = Node.get<Stmt>();
    const IfStmt *If = dyn_cast_or_null<IfStmt>(Up);
    const BinaryOperator *Asked = If ? dyn_cast<BinaryOperator>(If->getCond()->IgnoreParenImpCasts()) : nullptr;
    Out = Asked && Child == (Asked->getOpcode() == BO_EQ ? If->getThen() : Asked->getOpcode() == BO_NE ? If->getElse() : nullptr);
    Child = Up;
    return Up && (!If || Child == If->getCond());
  });
  return Out;
}

/// None: in a loop that is not counted, or in a lambda.
static std::optional<Around> around(const Stmt *At, const Evaluator &Values, ASTContext &Context) {
  Around Out;
  Out.Conditional = isConditional(At, Context);
  Out.Equal = whereEqual(At, Context);
  bool Counted = true;
  const Stmt *Child = At;
  goOutward(At, Context, [&](const DynTypedNode &Node) {
    const Stmt *Parent = Node.get<Stmt>();
    if (!Parent)
      return !Node.get<FunctionDecl>();
    if (const ForStmt *For = dyn_cast<ForStmt>(Parent); For && For->getBody() == Child) {
      std::optional<Evaluator::CountedLoop> Loop = Values.countedLoop(For);
      if (!Loop || !Loop->Trips || Loop->Trips > Largest)
        return Counted = false;
      Out.Loops.insert(Out.Loops.begin(), *Loop);
      Out.Outermost = For;
    } else if (const CXXForRangeStmt *Range = dyn_cast<CXXForRangeStmt>(Parent); Range && Range->getBody() == Child) {
      const std::optional<Estimate> Elements = Values.elements(containerOf(Range->getRangeInit()));
      if (!Elements || Elements->Value < 1 || uint64_t(Elements->Value) > Largest)
        return Counted = false;
      Out.Loops.insert(Out.Loops.begin(), {cast<VarDecl>(Range->getBeginStmt()->getSingleDecl()), 0, 1, uint64_t(Elements->Value)});
      Out.Outermost = Range;
    } else if (isa<LambdaExpr, WhileStmt>(Parent) || (isa<DoStmt>(Parent) && !cast<DoStmt>(Parent)->getCond()->isIntegerConstantExpr(Context)))
      return Counted = false;
    Child = Parent;
    return true;
  });
  return Counted ? std::optional(Out) : std::nullopt;
}

/// The place of \p P as a first byte and a stride for each loop; false: it is not the
/// sum of such strides.
static bool findStrides(const HostPlace &P, const Around &Where, Fill &F, const Evaluator &Values, const UnitFacts &Facts, ASTContext &Context) {
  FillFormula Offset(Where.Loops, Where.Outermost, Values, Facts, Context);
  uint32_t Sum = Offset.constant(P.Offset);
  for (const auto &[Index, Size] : P.Indices) {
    const uint32_t Value = Offset.add(Index);
    Sum = Offset.binary(FillNode::Op::Add, Sum, Offset.binary(FillNode::Op::Mul, Value, Offset.constant(Size)));
  }
  if (llvm::any_of(Offset.Nodes, [](const FillNode &N) { return N.What == FillNode::Op::Unknown; }))
    return false;
  Fill Place = F;
  Place.Nodes = Offset.Nodes;
  std::vector<uint64_t> Trips(F.Loops.size());
  const int64_t First = Place.value(Trips);
  std::vector<int64_t> Strides;
  for (size_t I = 0; I < Trips.size(); ++I) {
    Trips[I] = F.Loops[I].Trips > 1;
    Strides.push_back(int64_t(uint64_t(Place.value(Trips)) - uint64_t(First)));
    Trips[I] = 0;
    if (const double Bytes = std::abs(double(Strides.back())); Bytes > Largest || Bytes * double(F.Loops[I].Trips) > 1024.0 * Largest)
      return false;
  }
  // The same at a few more trips.
  for (unsigned Probe = 1; Probe <= 8; ++Probe) {
    int64_t Expected = First;
    for (size_t I = 0; I < Trips.size(); ++I) {
      Trips[I] = (F.Loops[I].Trips - 1) * ((Probe * (I + 3)) % 9) / 8;
      Expected += Strides[I] * int64_t(Trips[I]);
    }
    if (Place.value(Trips) != Expected)
      return false;
  }
  int64_t Begin = First;
  for (size_t I = 0; I < Strides.size(); ++I) {
    FillLoop &L = F.Loops[I];
    if (Strides[I] < 0) { // counted the other way
      Begin += Strides[I] * int64_t(L.Trips - 1);
      L.First += L.Step * int64_t(L.Trips - 1);
      L.Step = -L.Step;
    }
    L.Stride = std::abs(Strides[I]);
  }
  if (Begin < 0)
    return false;
  F.Begin = Begin;
  return true;
}

/// The loop body, or other statement, in which \p Call stands alone.
static const Stmt *bodyOf(const Stmt *Call, ASTContext &Context) {
  for (;;) {
    auto Parents = Context.getParents(*Call);
    const Stmt *P = Parents.empty() ? nullptr : Parents[0].get<Stmt>();
    if (!P || !isa<ExprWithCleanups>(P))
      return P;
    Call = P;
  }
}

/// The same of a push_back, of elements of \p Size bytes: if all of them stand in one loop body, and
/// nothing else gives it elements.
static bool findAppended(const HostWrite &W, llvm::ArrayRef<const Stmt *> Appends, int64_t Size,
                         const Around &Where, Fill &F, const Evaluator &Values, ASTContext &Context) {
  double Count = double(Appends.size());
  const Stmt *Body = bodyOf(W.Append, Context);
  if (Where.Conditional || !Body || llvm::any_of(Appends, [&](const Stmt *Other) { return bodyOf(Other, Context) != Body; }))
    return false;
  int64_t Stride = int64_t(Appends.size()) * Size;
  for (FillLoop &L : llvm::reverse(F.Loops)) {
    L.Stride = Stride;
    Count *= double(L.Trips);
    if (Count > double(Largest))
      return false;
    Stride *= int64_t(L.Trips);
  }
  F.Begin = uint64_t((llvm::find(Appends, W.Append) - Appends.begin()) * Size + W.Place.Offset);
  const std::optional<Estimate> Elements = Values.elements(W.Place.Array);
  return Elements && double(Elements->Value) == Count;
}

/// Loops in the order of their strides; nodes name them by number.
static void sortLoops(Fill &F) {
  std::vector<size_t> Order(F.Loops.size());
  for (size_t I = 0; I < Order.size(); ++I)
    Order[I] = I;
  llvm::stable_sort(Order, [&](size_t A, size_t B) { return F.Loops[A].Stride > F.Loops[B].Stride; });
  std::vector<FillLoop> Sorted;
  for (size_t I : Order)
    Sorted.push_back(F.Loops[I]);
  for (FillNode &N : F.Nodes) {
    if (N.What == FillNode::Op::Counter)
      N.Value = llvm::find(Order, size_t(N.Value)) - Order.begin();
    const uint32_t Before = N.Varies;
    for (size_t I = 0; I < std::min<size_t>(Order.size(), 32); ++I)
      N.Varies = (N.Varies & ~(1u << I)) | uint32_t(Order[I] > 31 || Before >> Order[I] & 1) << I;
  }
  F.Loops = std::move(Sorted);
}

/// Two trips of \p F, whose loops are sorted, write one byte.
static bool overlapsItself(const Fill &F) {
  int64_t Inner = F.Bytes; // bytes that the loops with smaller strides cover
  for (const FillLoop &L : llvm::reverse(F.Loops)) {
    if (L.Stride && L.Stride < Inner)
      return true;
    Inner += L.Stride * int64_t(L.Trips - 1);
  }
  return false;
}

/// \p Appends: all push_backs into the array, in the order of the source.
static std::optional<Written> written(const HostWrite &W, llvm::ArrayRef<const Stmt *> Appends, int64_t Size, bool Shuffled,
                                      const Evaluator &Values, const UnitFacts &Facts, ASTContext &Context) {
  std::optional<Around> Where = around(W.At, Values, Context);
  if (!Where)
    return std::nullopt;
  Written Out;
  Out.Conditional = Where->Conditional || W.Sometimes;
  Out.Seldom = Where->Equal;
  Fill &F = Out.F;
  F.Bytes = Context.getTypeSizeInChars(W.Value->getType()).getQuantity();
  F.Shuffled = Shuffled;
  for (const Evaluator::CountedLoop &L : Where->Loops) {
    F.Loops.push_back({L.First, L.Step, L.Trips, 0});
    Out.Times *= double(L.Trips);
  }
  if (!(W.Append ? findAppended(W, Appends, Size, *Where, F, Values, Context) : findStrides(W.Place, *Where, F, Values, Facts, Context)))
    return std::nullopt;
  FillFormula Value(Where->Loops, Where->Outermost, Values, Facts, Context);
  if (W.Made)
    Value.enter(W.Made);
  const uint32_t Node = Value.add(W.Value);
  if (Node + 1 != Value.Nodes.size()) // a parameter or the like, computed before
    Value.binary(FillNode::Op::Add, Node, Value.constant(0));
  F.Nodes = std::move(Value.Nodes);
  if (isUnbounded(F.Nodes)) {
    Out.Unknown = !Value.Draws && !Shuffled;
    F.Shuffled = true; // any number
  }
  sortLoops(F);
  if (overlapsItself(F))
    return std::nullopt;
  F.Scattered = isScattered(F);
  return Out;
}

/// Writes of a whole object as those of its integers.
static std::vector<HostWrite> ofIntegers(const std::vector<HostWrite> &All, const HostWrites &Host, ASTContext &Context) {
  std::vector<HostWrite> Out;
  for (const HostWrite &W : All) {
    const DeclRefExpr *Object = W.Value && !W.Value->getType()->isIntegralOrEnumerationType() ? dyn_cast<DeclRefExpr>(W.Value) : nullptr;
    if (!Object) {
      Out.push_back(W);
      continue;
    }
    auto At = Host.Writes.find(Object->getDecl());
    if (At == Host.Writes.end())
      continue;
    for (const HostWrite &Inner : At->second)
      if (!Inner.Value || Inner.Value->getType()->isIntegralOrEnumerationType()) {
        HostWrite One = Inner;
        One.Place.Array = W.Place.Array;
        One.Place.Offset += W.Place.Offset;
        One.Append = W.Append;
        if (W.Made) {
          One.Sometimes = isConditional(Inner.At, Context);
          One.At = W.At;
          One.Made = W.Made;
        }
        One.Place.Indices.insert(One.Place.Indices.end(), W.Place.Indices.begin(), W.Place.Indices.end());
        Out.push_back(std::move(One));
      }
  }
  return Out;
}

/// The member that lies at byte \p Offset of \p R, or around it.
static const FieldDecl *memberAt(const RecordDecl *R, int64_t Offset, const ASTContext &Context) {
  for (const FieldDecl *F : R->fields()) {
    if (F->isBitField())
      continue;
    const int64_t Begin = Context.toCharUnitsFromBits(Context.getFieldOffset(F)).getQuantity();
    const int64_t Size = Context.getTypeSizeInChars(F->getType()).getQuantity();
    if (Offset < Begin || Offset >= Begin + Size)
      continue;
    const RecordDecl *Inner = F->getType()->getAsRecordDecl();
    return Inner && !Inner->isUnion() ? memberAt(Inner->getDefinition(), Offset - Begin, Context) : F;
  }
  return nullptr;
}

namespace {

/// What the host writes into an array of records or integers.
struct ArrayWrites {
  std::map<int64_t, std::vector<HostWrite>> ByOffset; ///< in an element
  std::vector<const Stmt *> Appends;                  ///< all push_backs, in the order of the source
  int64_t Size = 0;                                   ///< of an element
  bool Shuffled = false;
};

} // namespace

/// None: not all that is written is plain to see.
static std::optional<ArrayWrites> arrayWrites(const ValueDecl *Array, QualType Element, const HostWrites &Host, ASTContext &Context) {
  const auto At = Host.Writes.find(Array);
  if (At == Host.Writes.end() || Host.Unclear.count(Array))
    return std::nullopt;
  ArrayWrites Out;
  Out.Size = Context.getTypeSizeInChars(Element).getQuantity();
  Out.Shuffled = Host.Shuffled.count(Array);
  for (const HostWrite &W : At->second)
    if (W.Append && !llvm::is_contained(Out.Appends, W.Append))
      Out.Appends.push_back(W.Append);
  if (!Out.Appends.empty() && llvm::any_of(At->second, [](const HostWrite &W) { return !W.Append; }))
    return std::nullopt;
  for (HostWrite &W : ofIntegers(At->second, Host, Context))
    Out.ByOffset[W.Place.Offset].push_back(std::move(W));
  return Out;
}

/// Those of the integer in each element that \p Here writes.
static std::vector<Fill> fillsOfOne(llvm::ArrayRef<HostWrite> Here, const ArrayWrites &Array, const Evaluator &Values, const UnitFacts &Facts,
                                    ASTContext &Context) {
  std::vector<Fill> Out;
  if (llvm::any_of(Here, [&](const HostWrite &W) {
        return !W.Value || (!W.Append && (W.Place.Indices.empty() || W.Place.Indices.back().second != Array.Size));
      }))
    return Out;
  std::vector<Written> All;
  for (const HostWrite &W : Here)
    if (std::optional<Written> One = written(W, Array.Appends, Array.Size, Array.Shuffled, Values, Facts, Context); One && One->Times > 1)
      All.push_back(std::move(*One));
  // The first that writes a place counts: a loop over all of them before a branch for a few; of two alike the later one.
  std::reverse(All.begin(), All.end());
  llvm::stable_sort(All, [](const Written &A, const Written &B) {
    return std::tuple(A.Conditional, -A.Times, A.Seldom) < std::tuple(B.Conditional, -B.Times, B.Seldom);
  });
  for (Written &W : All) {
    if (W.Unknown && !W.Conditional)
      break; // what was there before is gone
    if (!W.Unknown)
      Out.push_back(std::move(W.F));
  }
  return Out;
}

std::vector<Fill> fillsOf(const ValueDecl *Array, QualType Element, const HostWrites &Host, const Evaluator &Values, const UnitFacts &Facts,
                          ASTContext &Context) {
  std::vector<Fill> Out;
  const std::optional<ArrayWrites> Writes = arrayWrites(Array, Element, Host, Context);
  if (!Writes)
    return Out;
  const RecordDecl *Record = Element->getAsRecordDecl();
  for (const auto &[Offset, Here] : Writes->ByOffset) {
    const FieldDecl *Member = Record ? memberAt(Record, Offset, Context) : nullptr;
    if (!Record || (Member && !Host.DeviceWrites.count(Member)))
      llvm::append_range(Out, fillsOfOne(Here, *Writes, Values, Facts, Context));
  }
  return Out;
}

std::vector<Fill> firstFillsOf(const ValueDecl *Array, QualType Element, int64_t Offset, const HostWrites &Host, const Evaluator &Values, const UnitFacts &Facts,
                               ASTContext &Context) {
  const std::optional<ArrayWrites> Writes = arrayWrites(Array, Element, Host, Context);
  if (!Writes)
    return {};
  const auto Here = Writes->ByOffset.find(Offset);
  return Here == Writes->ByOffset.end() ? std::vector<Fill>() : fillsOfOne(Here->second, *Writes, Values, Facts, Context);
}

} // namespace restride
