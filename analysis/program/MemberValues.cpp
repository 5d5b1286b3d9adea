// What members hold that may be byte counts, or tell how kernels are launched. All values given to a member, in
// any object, are collected; a way to change it that is none of them makes it unclear.

#include "analysis/program/FunctionVisitor.h"
#include "analysis/program/HostPlaces.h"
#include "analysis/program/UnitVisitor.h"

#include "clang/AST/ParentMapContext.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace restride {

namespace {

class MemberValueVisitor : public FunctionVisitor {
public:
  MemberValueVisitor(UnitFacts &Facts, ASTContext &Context) : Facts(Facts), Context(Context) {}

  bool VisitFieldDecl(FieldDecl *F) override {
    if (F->hasInClassInitializer() && F->getInClassInitializer())
      given(F, F->getInClassInitializer());
    const RecordDecl *Around = F->getParent();
    while (!Around->isUnion() && Around->isAnonymousStructOrUnion())
      Around = cast<RecordDecl>(Around->getDeclContext());
    if (Around->isUnion())
      unclear(F);
    return true;
  }

  bool VisitMemberExpr(MemberExpr *E) override {
    const FieldDecl *F = dyn_cast<FieldDecl>(E->getMemberDecl());
    if (F && F->getType()->isIntegerType())
      usedAs(E, {F});
    if (inTemplate() || !F)
      return true;
    auto Parents = Context.getParents(*E);
    const Stmt *Parent = Parents.empty() ? nullptr : Parents[0].get<Stmt>();
    const BinaryOperator *B = dyn_cast_or_null<BinaryOperator>(Parent);
    const ImplicitCastExpr *Cast = dyn_cast_or_null<ImplicitCastExpr>(Parent);
    if (B && B->getOpcode() == BO_Assign && B->getLHS() == E)
      given(F, B->getRHS());
    else if (F->getType()->isArithmeticType() && (!Cast || Cast->getCastKind() != CK_LValueToRValue)) {
      unclear(F);
      Facts.MemberChanges[F->getLocation().getRawEncoding()].push_back(E);
    }
    return true;
  }

  bool VisitArraySubscriptExpr(ArraySubscriptExpr *S) override {
    const Expr *Base = S->getBase()->IgnoreParenImpCasts();
    const DeclRefExpr *R = dyn_cast<DeclRefExpr>(Base);
    const MemberExpr *M = dyn_cast<MemberExpr>(Base);
    const ValueDecl *Pointer = R && isa<ParmVarDecl>(R->getDecl()) ? R->getDecl() : M ? dyn_cast<FieldDecl>(M->getMemberDecl()) : nullptr;
    if (Pointer && Pointer->getType()->isPointerType() && S->getType()->isIntegerType())
      usedAs(S, {Pointer});
    return true;
  }

  bool VisitCXXOperatorCallExpr(CXXOperatorCallExpr *C) override {
    const MemberExpr *To = C->getOperator() == OO_Equal && !inTemplate() ? dyn_cast<MemberExpr>(C->getArg(0)->IgnoreParens()) : nullptr;
    if (const FieldDecl *F = To ? dyn_cast<FieldDecl>(To->getMemberDecl()) : nullptr)
      given(F, C->getArg(1));
    return true;
  }

  bool VisitDeclRefExpr(DeclRefExpr *R) override {
    if (auto At = Copies.find(R->getDecl()->getLocation().getRawEncoding()); At != Copies.end())
      usedAs(R, At->second);
    return true;
  }

  bool VisitInitListExpr(InitListExpr *List) override {
    const InitListExpr *L = List->getSemanticForm() ? List->getSemanticForm() : List;
    return listed(L->getType(), L->inits());
  }
  bool VisitCXXParenListInitExpr(CXXParenListInitExpr *L) override { return listed(L->getType(), L->getInitExprs()); }

  bool VisitCXXConstructorDecl(CXXConstructorDecl *C) override {
    if (!inTemplate())
      for (const CXXCtorInitializer *I : C->inits())
        if (I->isWritten() && I->getAnyMember())
          given(I->getAnyMember(), I->getInit());
    return true;
  }

  /// `auto &[n, bytes] = sizes;`
  bool VisitBindingDecl(BindingDecl *B) override {
    const MemberExpr *M = dyn_cast_or_null<MemberExpr>(B->getBinding());
    QualType T = cast<VarDecl>(B->getDecomposedDecl())->getType();
    if (M && T->isReferenceType() && !T.getNonReferenceType().isConstQualified())
      if (const FieldDecl *F = dyn_cast<FieldDecl>(M->getMemberDecl()))
        unclear(F);
    return true;
  }

  /// Objects that are written or come in as bytes.
  bool VisitCastExpr(CastExpr *E) override {
    if (inTemplate() || !llvm::is_contained({CK_BitCast, CK_LValueBitCast, CK_IntegralToPointer}, E->getCastKind()))
      return true;
    QualType From = pointee(E->getSubExpr()), To = pointee(E);
    if (!From.isNull() && !To.isConstQualified() && !leavesValues(E))
      allUnclear(From);
    if (!To.isNull() && !isa<CallExpr>(E->getSubExpr()->IgnoreParenCasts())) // (Sizes *)malloc(n)
      allUnclear(To);
    return true;
  }

private:
  /// What a value is that is used somewhere.
  struct Used {
    const ValueDecl *Of; ///< a member, or the pointer that it lies behind, a parameter or a member
    bool Itself = true;  ///< and nothing computed from it
    unsigned Copies = 0; ///< variables that it went through
  };

  /// Where the value of \p E goes.
  void usedAs(const Expr *E, Used Value) {
    constexpr unsigned MostHops = 8, MostCopies = 2;
    const unsigned Key = Value.Of->getLocation().getRawEncoding();
    DynTypedNode Node = DynTypedNode::create(*E);
    const Stmt *Child = E;
    for (unsigned Hop = 0; Hop < MostHops; ++Hop) {
      auto Parents = Context.getParents(Node);
      if (Parents.empty())
        return;
      Node = Parents[0];
      if (const VarDecl *V = Node.get<VarDecl>()) { // int left = face.left;
        auto Loop = Context.getParents(*V);
        auto Around = Loop.empty() ? Loop : Context.getParents(Loop[0]);
        if (!Around.empty() && Around[0].get<ForStmt>())
          Facts.Bounds.insert(Key);
        else if (Value.Copies < MostCopies)
          Copies[V->getLocation().getRawEncoding()] = {Value.Of, Value.Itself, Value.Copies + 1};
        return;
      }
      const Stmt *Parent = Node.get<Stmt>();
      if (!Parent)
        return;
      if (const ArraySubscriptExpr *S = dyn_cast<ArraySubscriptExpr>(Parent); S && S->getIdx() == Child) {
        const Expr *Base = S->getBase()->IgnoreParenImpCasts();
        if (Base->getType()->isPointerType()) // and no array in a record
          Facts.Subscripts.insert(Key);
        else if (const ConstantArrayType *Array = Context.getAsConstantArrayType(Base->getType()); Array && Value.Itself)
          boundBy(Array->getZExtSize(), Key);
        return;
      }
      if (const ForStmt *For = dyn_cast<ForStmt>(Parent)) {
        if (For->getInit() == Child || For->getCond() == Child)
          Facts.Bounds.insert(Key);
        return;
      }
      if (!isa<Expr>(Parent) || isa<MemberExpr>(Parent) || (isa<CallExpr>(Parent) && !limits(cast<CallExpr>(Parent))))
        return;
      Value.Itself &= isa<CastExpr, ParenExpr>(Parent);
      Child = Parent;
    }
  }

  /// `max(0, cell - 1)`
  static bool limits(const CallExpr *C) {
    const FunctionDecl *F = C->getDirectCallee();
    return F && F->getDeclName().isIdentifier() && llvm::StringSwitch<bool>(F->getName()).Cases({"min", "max", "clamp"}, true).Default(false);
  }

  void boundBy(uint64_t Extent, unsigned Key) {
    auto [At, New] = Facts.Extents.try_emplace(Key, Extent);
    At->second = std::min(At->second, Extent);
  }

  /// Variables that begin as such a value.
  std::map<unsigned, Used> Copies;

  void given(const FieldDecl *F, const Expr *Value) {
    if (F->getType()->isArithmeticType() || F->getType()->isRecordType() || F->getType()->isPointerType())
      Facts.MemberValues[F->getLocation().getRawEncoding()].push_back(Value);
    if (isa<ClassTemplateSpecializationDecl>(F->getParent()))
      Facts.InstanceValues[F].push_back(Value);
  }
  void unclear(const FieldDecl *F) {
    Facts.UnclearMembers.insert(F->getLocation().getRawEncoding());
    allUnclear(F->getType());
  }
  void allUnclear(QualType T) {
    const RecordDecl *D = T->getBaseElementTypeUnsafe()->getAsRecordDecl();
    if (D && D->getDefinition())
      for (const FieldDecl *F : D->getDefinition()->fields())
        unclear(F);
  }
  bool listed(QualType T, llvm::ArrayRef<Expr *> Values) {
    const CXXRecordDecl *Record = T->getAsCXXRecordDecl();
    if (inTemplate() || !Record || Record->isUnion() || Record->getNumBases())
      return true;
    for (const FieldDecl *F : Record->fields())
      if (F->getFieldIndex() < Values.size())
        if (const Expr *Value = Values[F->getFieldIndex()]; Value && !isa<ImplicitValueInitExpr>(Value))
          given(F, Value);
    return true;
  }
  static QualType pointee(const Expr *E) {
    QualType T = E->getType();
    return T->isPointerType() ? T->getPointeeType() : E->isGLValue() ? T : QualType();
  }
  /// The bytes are freed, set to zero, or lie on the device.
  bool leavesValues(const Expr *E) {
    const CallExpr *Call = nullptr;
    for (auto Up = Context.getParents(*E); !Call && !Up.empty() && Up[0].get<Expr>(); Up = Context.getParents(Up[0])) {
      Call = Up[0].get<CallExpr>();
      if (!Call && !Up[0].get<CastExpr>() && !Up[0].get<ParenExpr>())
        return false;
    }
    const FunctionDecl *F = Call ? Call->getDirectCallee() : nullptr;
    if (!F || !F->getDeclName().isIdentifier())
      return false;
    llvm::StringRef Name = F->getName();
    if (Name == "free" || Name == "cudaFree" || Name == "cudaFreeHost")
      return true;
    if (Name == "memset" && Call->getNumArgs() == 3) {
      std::optional<llvm::APSInt> Byte = Call->getArg(1)->getIntegerConstantExpr(Context);
      return Byte && Byte->isZero();
    }
    return llvm::any_of(Call->arguments(), [](const Expr *A) {
      const DeclRefExpr *R = dyn_cast<DeclRefExpr>(A->IgnoreParenImpCasts());
      return R && R->getDecl()->getDeclName().isIdentifier() && R->getDecl()->getName() == "cudaMemcpyHostToDevice";
    });
  }

  UnitFacts &Facts;
  ASTContext &Context;
};

} // namespace

void collectMemberValues(Unit &U, ASTContext &Context) {
  MemberValueVisitor V(U.Facts, Context);
  for (Decl *D : U.Scope)
    V.TraverseDecl(D);
}

} // namespace restride
