#include "analysis/program/HostWrites.h"

#include "analysis/program/Around.h"
#include "analysis/program/FunctionVisitor.h"
#include "analysis/program/MadeArrays.h"
#include "analysis/program/Placing.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace restride {

static constexpr unsigned MaxDepth = 16;

/// The variable that says which element `p[i]` or `*q` is; null: an expression does.
static const ValueDecl *elementBy(const Expr *E) {
  const ArraySubscriptExpr *S = dyn_cast<ArraySubscriptExpr>(E);
  const UnaryOperator *U = dyn_cast<UnaryOperator>(E);
  const Expr *Which = S ? S->getIdx() : U && U->getOpcode() == UO_Deref ? U->getSubExpr() : nullptr;
  const DeclRefExpr *R = Which ? dyn_cast<DeclRefExpr>(withoutCasts(Which)) : nullptr;
  return R ? R->getDecl() : nullptr;
}

/// The record \p E that lies in a function's registers; null: it is none, or lies elsewhere.
static const VarDecl *localRecord(const Expr *E) {
  const DeclRefExpr *R = E->getType()->isRecordType() ? dyn_cast<DeclRefExpr>(E) : nullptr;
  const VarDecl *V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
  return V && V->hasLocalStorage() && !isa<ParmVarDecl>(V) && !V->getType()->isReferenceType() ? V : nullptr;
}

namespace {

class WriteVisitor : public FunctionVisitor {
public:
  WriteVisitor(const UnitFacts &Facts, ASTContext &Context) : Facts(Facts), Context(Context) {}
  HostWrites Out;
  MadeArrays Made;

  bool VisitBinaryOperator(BinaryOperator *B) override {
    if (skip() || !B->isAssignmentOp())
      return true;
    if (onDevice())
      deviceAssign(B->getLHS(), B->getRHS());
    if (onHost())
      B->getOpcode() == BO_Assign ? assign(B->getLHS(), B->getRHS(), B) : unclear(B->getLHS());
    return true;
  }

  bool VisitUnaryOperator(UnaryOperator *U) override {
    if (skip())
      return true;
    // Through a pointer to an element its members are written by name.
    const bool IsAddress = U->getOpcode() == UO_AddrOf && !U->getSubExpr()->getType()->isRecordType();
    if (onDevice() && (U->isIncrementDecrementOp() || IsAddress))
      deviceWrite(U->getSubExpr());
    if (onHost() && U->isIncrementDecrementOp())
      unclear(U->getSubExpr());
    return true;
  }

  bool VisitCallExpr(CallExpr *C) override {
    if (skip())
      return true;
    const CXXOperatorCallExpr *O = dyn_cast<CXXOperatorCallExpr>(C);
    if (O && O->isAssignmentOp() && O->getNumArgs() == 2) {
      if (onDevice())
        deviceAssign(O->getArg(0), O->getArg(1));
      if (onHost())
        O->getOperator() == OO_Equal ? assign(O->getArg(0), O->getArg(1), O) : unclear(O->getArg(0));
      return true;
    }
    if (onDevice())
      deviceCall(C);
    if (onHost() && !O && !isa<CUDAKernelCallExpr>(C))
      hostCall(C);
    return true;
  }

  bool VisitCastExpr(CastExpr *C) override {
    if (!skip() && onDevice() && C->getCastKind() == CK_FloatingToIntegral)
      collectPlacing(C->getSubExpr(), Facts, Out.Placing);
    return true;
  }

  /// `P p = {i, i + 1};`: an object that is stored as a whole later.
  bool VisitVarDecl(VarDecl *V) override {
    if (skip() || !onHost() || !V->getInit())
      return true;
    if (!V->getType()->isReferenceType() && (V->getType()->isPointerType() || isContainer(V->getType())))
      if (const ValueDecl *From = madeAs(V->getInit(), Facts))
        Made[V].push_back(From);
    if (V->isLocalVarDecl() && V->getType()->isRecordType() && !isContainer(V->getType())) {
      HostPlace Place;
      Place.Array = V;
      value(Place, V->getInit(), V->getInit(), 0);
    }
    return true;
  }

private:
  bool skip() const { return !Function || inTemplate(); }
  bool onDevice() const { return runsOnDevice(Function); }
  bool onHost() const { return runsOnHost(Function); }

  void deviceAssign(const Expr *To, const Expr *What) {
    const VarDecl *Local = localRecord(withoutCasts(To)), *Stored = localRecord(withoutCopies(What));
    if (Local) {
      const ValueDecl *Element = elementBy(withoutCopies(What));
      const CXXConstructExpr *Default = dyn_cast_or_null<CXXConstructExpr>(Local->getInit());
      const bool IsFirst = !CopyOf.count(Local) && (!Local->getInit() || (Default && !Default->getNumArgs()));
      CopyOf[Local] = IsFirst || copyOf(Local) == Element ? Element : nullptr;
    } else if (const ValueDecl *Element = Stored ? copyOf(Stored) : nullptr; !Element || Element != elementBy(withoutCasts(To)))
      deviceWrite(To);
  }

  /// The variable that says which element \p V is a copy of, but for members that are written by name.
  const ValueDecl *copyOf(const VarDecl *V) const {
    if (const auto At = CopyOf.find(V); At != CopyOf.end())
      return At->second;
    return V->getInit() ? elementBy(withoutCopies(V->getInit())) : nullptr;
  }

  /// What it is given by pointer, and numbers by reference. Members are written by name where that happens.
  void deviceCall(const CallExpr *C) {
    const FunctionDecl *F = C->getDirectCallee();
    if (const llvm::StringRef Name = identifierOf(F); Name.starts_with("__float2") || Name.starts_with("__double2") || Name.ends_with("rint") || Name.ends_with("rintf"))
      for (const Expr *A : C->arguments()) // to an integer
        collectPlacing(A, Facts, Out.Placing);
    const unsigned First = isa<CXXOperatorCallExpr>(C) && F && isa<CXXMethodDecl>(F) ? 1 : 0;
    for (unsigned I = First; I < C->getNumArgs(); ++I) {
      const Expr *A = C->getArg(I);
      const QualType T = F && I - First < F->getNumParams() ? F->getParamDecl(I - First)->getType() : A->getType();
      const bool Reaches = T->isPointerType() || (T->isReferenceType() && !A->getType()->isRecordType());
      if (Reaches && !T->getPointeeType().isConstQualified())
        deviceWrite(A);
    }
  }

  /// Everything that the lvalue or pointer \p E names may change.
  void deviceWrite(const Expr *E) {
    if (const RecordDecl *R = E->getType()->getAsRecordDecl())
      Out.DeviceRecords.insert(R->getDefinition());
    for (unsigned Depth = 0; Depth < MaxDepth; ++Depth) {
      E = withoutCasts(E);
      if (const MemberExpr *M = dyn_cast<MemberExpr>(E)) {
        Out.DeviceWrites.insert(M->getMemberDecl());
        E = M->getBase();
      } else if (const ArraySubscriptExpr *S = dyn_cast<ArraySubscriptExpr>(E))
        E = S->getBase();
      else if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E))
        E = U->getSubExpr();
      else if (const BinaryOperator *B = dyn_cast<BinaryOperator>(E); B && B->isAdditiveOp())
        E = B->getLHS()->getType()->isPointerType() ? B->getLHS() : B->getRHS();
      else if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E)) {
        Out.DeviceWrites.insert(R->getDecl());
        const VarDecl *V = dyn_cast<VarDecl>(R->getDecl());
        if (!V || isa<ParmVarDecl>(V) || !V->getInit() || !(V->getType()->isReferenceType() || V->getType()->isPointerType()))
          return;
        E = V->getInit();
      } else
        return;
    }
  }

  void unclear(const Expr *E) {
    if (std::optional<HostPlace> Place = placeOf(E, Facts, Context))
      Out.Writes[Place->Array].push_back({*Place, nullptr, E});
  }

  void assign(const Expr *To, const Expr *What, const Stmt *At) {
    if (isContainer(To->getType())) { // all at once
      const ValueDecl *Array = arrayOf(To, Facts), *From = Array ? madeAs(What, Facts) : nullptr;
      const CXXConstructExpr *New = dyn_cast<CXXConstructExpr>(withoutCasts(What));
      const bool IsEmpty = New && llvm::all_of(New->arguments(), [](const Expr *A) { return A->isDefaultArgument() || A->getType()->isIntegerType(); });
      if (From)
        Made[Array].push_back(From);
      else if (Array && !IsEmpty)
        Out.Unclear.insert(Array);
      return;
    }
    std::optional<HostPlace> Place = placeOf(To, Facts, Context);
    if (!Place)
      return;
    if (!isa<MemberExpr>(withoutCasts(To)) && isElementOf(Place->Array, withoutCasts(withoutCopies(What)))) // swapped by hand
      Out.Shuffled.insert(Place->Array);
    value(*Place, What, At, 0);
  }

  /// \p E is an element of \p Array, and not always the same one.
  bool isElementOf(const ValueDecl *Array, const Expr *E) const {
    const std::optional<HostPlace> From = placeOf(E, Facts, Context);
    return From && From->Array == Array && llvm::any_of(From->Indices, [&](const auto &Index) {
             Expr::EvalResult Result;
             return !Index.first->EvaluateAsInt(Result, Context);
           });
  }

  /// Integers that \p What gives to \p Place, field by field.
  void value(HostPlace Place, const Expr *What, const Stmt *At, unsigned Depth) {
    const Expr *E = withoutCopies(What);
    const QualType T = What->getType().getNonReferenceType();
    if (T->isIntegralOrEnumerationType()) {
      Out.Writes[Place.Array].push_back({Place, What, At, Append, Maker});
      return;
    }
    if (T->isRealFloatingType()) {
      Out.Reals[Place.Array].push_back({Place, What, At, Append, Maker});
      return;
    }
    const RecordDecl *Record = T->getAsRecordDecl();
    if (const InitListExpr *List = dyn_cast<InitListExpr>(E); List && Depth < MaxDepth) {
      if (const ArrayType *A = Context.getAsArrayType(T)) {
        const int64_t Size = Context.getTypeSizeInChars(A->getElementType()).getQuantity();
        for (unsigned I = 0; I < List->getNumInits(); ++I) {
          HostPlace One = Place;
          One.Offset += I * Size;
          value(One, List->getInit(I), At, Depth + 1);
        }
      } else if (Record)
        members(Place, Record, List->inits(), At, Depth);
      return;
    }
    const CallExpr *C = Record ? dyn_cast<CallExpr>(E) : nullptr;
    const FunctionDecl *F = C ? C->getDirectCallee() : nullptr;
    if (F && Context.getSourceManager().isInSystemHeader(F->getLocation()) && identifierOf(F).starts_with("make_")) // make_float3(x, y, z)
      return members(Place, Record, {C->getArgs(), C->getNumArgs()}, At, Depth);
    if (const Expr *Returned = C && !Maker ? returnedBy(C) : nullptr) {
      Maker = C;
      value(Place, Returned, At, Depth + 1);
      Maker = nullptr;
      return;
    }
    if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E); R && Record) // p[i] = one
      if (const VarDecl *V = dyn_cast<VarDecl>(R->getDecl()); V && V->isLocalVarDecl())
        Out.Writes[Place.Array].push_back({Place, R, At, Append, Maker});
  }

  /// What the fields of \p Record get, from \p Values.
  void members(const HostPlace &Place, const RecordDecl *Record, llvm::ArrayRef<const Expr *> Values, const Stmt *At, unsigned Depth) {
    const CXXRecordDecl *Class = dyn_cast<CXXRecordDecl>(Record);
    if (Record->isUnion() || !Record->isCompleteDefinition() || (Class && Class->getNumBases()))
      return;
    for (const auto &[F, Value] : llvm::zip(Record->fields(), Values)) {
      if (F->isBitField())
        return;
      HostPlace One = Place;
      One.Offset += Context.toCharUnitsFromBits(Context.getFieldOffset(F)).getQuantity();
      value(One, Value, At, Depth + 1);
    }
  }

  /// False: it is not seen what, or to where.
  bool copied(const Expr *Destination, const Expr *Source, const FieldDecl *Member) {
    bool Any = false;
    for (const Reached &To : reachedBy(Destination, Function, Facts, Context))
      if (const ValueDecl *From = arrayIn(To.Calls, Source, Facts)) {
        Out.Copied[To.Array].insert({From, Member});
        Any = true;
      }
    return Any;
  }

  /// Of the runtime, the library and functions that are not seen.
  void hostCall(const CallExpr *C) {
    const FunctionDecl *F = C->getDirectCallee(), *Definition = nullptr;
    llvm::StringRef Name = identifierOf(F);
    if ((Name == "cudaMemcpy" || Name == "cudaMemcpyAsync") && C->getNumArgs() >= 4) {
      const DeclRefExpr *Kind = dyn_cast<DeclRefExpr>(withoutCasts(C->getArg(3)));
      llvm::StringRef Direction = Kind ? identifierOf(Kind->getDecl()) : "";
      if (Direction != "cudaMemcpyDeviceToHost")
        copied(C->getArg(0), C->getArg(1), nullptr);
      return;
    }
    if ((Name.ends_with("_memcpy") || Name.ends_with("_memcpyAsync")) && C->getNumArgs() >= 5) { // of one field
      const UnaryOperator *Address = dyn_cast<UnaryOperator>(C->getArg(1)->IgnoreParenImpCasts());
      const DeclRefExpr *Member = Address ? dyn_cast<DeclRefExpr>(Address->getSubExpr()) : nullptr;
      const FieldDecl *Field = Member ? dyn_cast<FieldDecl>(Member->getDecl()) : nullptr;
      if (Field && copied(C->getArg(0), C->getArg(2), Field))
        return;
    }
    if ((Name == "cudaMalloc" || Name == "cudaMallocManaged" || Name == "cudaMallocAsync") && C->getNumArgs() >= 2)
      for (Reached &To : reachedBy(C->getArg(0), Function, Facts, Context))
        Out.Allocated[To.Array].push_back({C->getArg(1), std::move(To.Calls)});
    if (Name.starts_with("cuda") || Name == "free" || Name == "memset") // all fields of records get their numbers afterwards
      return;
    const bool Exchanges = Name == "swap" || Name == "shuffle" || Name == "random_shuffle" || Name == "iter_swap";
    if (const CXXMemberCallExpr *M = dyn_cast<CXXMemberCallExpr>(C)) {
      if (const ValueDecl *Array = arrayOf(M->getImplicitObjectArgument(), Facts); Array && Name == "push_back" && C->getNumArgs() == 1) {
        Append = C;
        HostPlace Place;
        Place.Array = Array;
        const size_t Before = Out.Writes[Array].size();
        value(Place, C->getArg(0), C, 0);
        Append = nullptr;
        if (Out.Writes[Array].size() == Before) // of what is not plain to see
          Out.Unclear.insert(Array);
        return;
      }
      if (const ValueDecl *Array = arrayOf(M->getImplicitObjectArgument(), Facts); Array && !M->getMethodDecl()->isConst() &&
          llvm::StringSwitch<bool>(Name).Cases({"emplace_back", "assign", "insert", "swap", "emplace"}, true).Default(false))
        Out.Unclear.insert(Array);
    }
    if (!F)
      return;
    for (unsigned I = 0; I < C->getNumArgs(); ++I) {
      const Expr *A = C->getArg(I);
      const QualType T = I < F->getNumParams() ? F->getParamDecl(I)->getType() : A->getType();
      const bool Reference = T->isReferenceType(), Constant = (Reference || T->isPointerType()) && T->getPointeeType().isConstQualified();
      if (Exchanges && Reference)
        if (std::optional<HostPlace> Place = placeOf(A, Facts, Context))
          Out.Shuffled.insert(Place->Array);
      const bool Handle = Reference || T->isPointerType() || T->isRecordType(); // an iterator
      const ValueDecl *Array = Handle && !Constant ? arrayOf(A, Facts) : nullptr;
      if (!Array || (Reference && Array->getType()->isIntegralOrEnumerationType()))
        continue;
      if (Exchanges)
        Out.Shuffled.insert(Array);
      else if (!F->hasBody(Definition) || F->isInStdNamespace() || I >= Definition->getNumParams() ||
               arrayOf(Definition->getParamDecl(I), Facts) != Array)
        Out.Unclear.insert(Array);
    }
  }

  const UnitFacts &Facts;
  ASTContext &Context;
  const Stmt *Append = nullptr;    ///< whose argument is looked at
  const CallExpr *Maker = nullptr; ///< of the function whose value is looked at
  std::map<const VarDecl *, const ValueDecl *> CopyOf; ///< records of device code that were assigned to; null: several
};

} // namespace

/// \p Inside: objects that are being looked at; records may be exchanged.
static void addByOffset(const ValueDecl *Array, int64_t Offset, const HostWrites &Host, HostWrites::ByArray HostWrites::*Which, std::set<const ValueDecl *> &Inside,
                        std::map<int64_t, std::vector<const HostWrite *>> &Out) {
  if (!Inside.insert(Array).second)
    return;
  auto all = [&](const HostWrites::ByArray &Of) {
    const auto At = Of.find(Array);
    return At == Of.end() ? llvm::ArrayRef<HostWrite>() : llvm::ArrayRef(At->second);
  };
  auto objectIn = [](const HostWrite &W) {
    const DeclRefExpr *R = dyn_cast_or_null<DeclRefExpr>(W.Value);
    return R && R->getType()->isRecordType() ? R->getDecl() : nullptr;
  };
  for (const HostWrite &W : all(Host.*Which))
    if (!objectIn(W))
      Out[Offset + W.Place.Offset].push_back(&W);
  for (const HostWrite &W : all(Host.Writes))
    if (const ValueDecl *Object = objectIn(W))
      addByOffset(Object, Offset + W.Place.Offset, Host, Which, Inside, Out);
  Inside.erase(Array);
}

std::map<int64_t, std::vector<const HostWrite *>> writesByOffset(const ValueDecl *Array, const HostWrites &Host, HostWrites::ByArray HostWrites::*Which) {
  std::map<int64_t, std::vector<const HostWrite *>> Out;
  std::set<const ValueDecl *> Inside;
  addByOffset(Array, 0, Host, Which, Inside, Out);
  return Out;
}

HostWrites hostWrites(llvm::ArrayRef<Decl *> Scope, const UnitFacts &Facts, ASTContext &Context) {
  WriteVisitor Visitor(Facts, Context);
  for (Decl *D : Scope)
    Visitor.TraverseDecl(D);
  addWritesOfMade(std::move(Visitor.Made), Visitor.Out);
  return std::move(Visitor.Out);
}

} // namespace restride
