#include "analysis/program/Around.h"
#include "analysis/program/ContainerSize.h"
#include "analysis/program/FillFormula.h"
#include "analysis/program/HostPlaces.h"
#include "analysis/program/PartUse.h"
#include "analysis/program/Returned.h"

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace clang;

namespace restride {

static constexpr unsigned MaxDepth = 32;
static constexpr size_t MaxNodes = 256, MaxElements = 32;

FillFormula::FillFormula(llvm::ArrayRef<Evaluator::CountedLoop> Loops, const Stmt *Outermost, const Evaluator &Values, const UnitFacts &Facts,
                         ASTContext &Context)
    : Loops(Loops), Outermost(Outermost), Values(Values), Facts(Facts), Context(Context) {}

uint32_t FillFormula::push(FillNode N) {
  if (N.What == FillNode::Op::Unknown)
    N.Varies = Varies;
  Nodes.push_back(N);
  return Nodes.size() - 1;
}

uint32_t FillFormula::constant(int64_t Value) { return push({FillNode::Op::Constant, 64, true, Value}); }

uint32_t FillFormula::typed(QualType T, FillNode::Op What, uint32_t A, uint32_t B, uint32_t C) {
  const bool Whole = T->isIntegralOrEnumerationType();
  return push({What, uint8_t(Whole ? std::min<uint64_t>(64, Context.getTypeSize(T)) : 64), !Whole || T->isSignedIntegerOrEnumerationType(), 0, A, B, C});
}

uint32_t FillFormula::unknown(const Expr *E) { return typed(E->getType(), FillNode::Op::Unknown); }

std::optional<size_t> FillFormula::loopOf(const VarDecl *V) const {
  const auto At = llvm::find_if(Loops, [&](const Evaluator::CountedLoop &L) { return L.Counter == V; });
  return At == Loops.end() ? std::nullopt : std::optional<size_t>(At - Loops.begin());
}

bool FillFormula::standsInside(SourceLocation L) const {
  const SourceManager &Manager = Context.getSourceManager();
  return Outermost && !Manager.isBeforeInTranslationUnit(L, Outermost->getBeginLoc()) && !Manager.isBeforeInTranslationUnit(Outermost->getEndLoc(), L);
}

/// The library copies what it takes by any reference: `std::pair(i, j)`, `cells.emplace_back(i, j)`.
static bool onlyCopies(const Expr *E) {
  const CXXConstructExpr *Construct = dyn_cast<CXXConstructExpr>(E);
  const CallExpr *Call = dyn_cast<CallExpr>(E);
  const FunctionDecl *F = Construct ? Construct->getConstructor() : Call ? Call->getDirectCallee() : nullptr;
  if (!F)
    return false;
  const CXXMethodDecl *Method = dyn_cast<CXXMethodDecl>(F);
  if (!(Method ? Method->getParent()->isInStdNamespace() : F->isInStdNamespace()))
    return false;
  const ClassTemplateSpecializationDecl *Class = Construct ? dyn_cast<ClassTemplateSpecializationDecl>(Method->getParent()) : nullptr;
  if (Class && (Class->getName() == "pair" || Class->getName() == "tuple"))
    return llvm::none_of(Class->getTemplateArgs().asArray(), [](const TemplateArgument &A) {
      return A.getKind() == TemplateArgument::Type && A.getAsType()->isReferenceType();
    });
  const llvm::StringRef Name = identifierOf(F);
  return Name.starts_with("emplace") || Name == "make_pair" || Name == "make_tuple";
}

bool isWritten(const DeclRefExpr *R, ASTContext &Context) {
  if (R->getType().isConstQualified())
    return false;
  const Expr *Child = R;
  for (;;) {
    auto Parents = Context.getParents(*Child);
    const Expr *Parent = Parents.empty() ? nullptr : Parents[0].get<Expr>();
    if (!Parent || !isa<ParenExpr>(Parent))
      return !Parent || (!isa<ImplicitCastExpr, InitListExpr>(Parent) && !onlyCopies(Parent)); // a const reference is bound through a cast
    Child = Parent;
  }
}

bool FillFormula::changesInside(const VarDecl *V, const Part &P) const {
  auto At = Facts.Modified.find(V->getLocation().getRawEncoding());
  if (At == Facts.Modified.end())
    return false;
  auto changes = [&](const DeclRefExpr *R) { return !Followed.count(R) && (P.empty() ? isWritten(R, Context) : partUse(R, P, Context).K != PartUse::Kind::None); };
  // A function's own variables may change in each call.
  const bool Elsewhere = !standsInside(V->getLocation()) && V->isLocalVarDeclOrParm() && !Loops.empty() &&
                         V->getParentFunctionOrMethod() != Loops.front().Counter->getParentFunctionOrMethod();
  return llvm::any_of(At->second, [&](const DeclRefExpr *R) { return (Elsewhere || standsInside(R->getLocation())) && changes(R); });
}

/// `cells[c].begin = points.size();` in the loop that fills points.
bool FillFormula::growsInside(const ValueDecl *Container) const {
  const auto At = Facts.Resized.find(Container->getLocation().getRawEncoding());
  return At != Facts.Resized.end() && llvm::any_of(At->second, [&](const CXXMemberCallExpr *C) { return !Outermost || standsInside(C->getExprLoc()); });
}

bool FillFormula::varies(const Stmt *S, unsigned Depth) {
  if (Depth > MaxDepth || (This && isa<CXXThisExpr>(S)))
    return true;
  if (const CXXMemberCallExpr *C = dyn_cast<CXXMemberCallExpr>(S))
    if (const ValueDecl *Container = containerOf(C->getImplicitObjectArgument()); Container && growsInside(Container))
      return true;
  if (const CallExpr *C = dyn_cast<CallExpr>(S)) {
    const bool TakesNothing = C->getNumArgs() == (isa<CXXOperatorCallExpr>(C) ? 1 : 0);
    if (drawsAtRandom(C) || (TakesNothing && C->getType()->isRealFloatingType())) // a generator's next number
      return true;
  }
  if (const MemberExpr *M = dyn_cast<MemberExpr>(S); M && Changed.count(M->getMemberDecl()))
    return true;
  if (const MemberExpr *M = dyn_cast<MemberExpr>(S); M && M->getType()->isIntegralOrEnumerationType()) {
    Part P;
    const DeclRefExpr *R = dyn_cast_or_null<DeclRefExpr>(wholeOf(M, P, Context));
    if (const VarDecl *V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr; V && !P.empty() && !standsInside(V->getLocation()))
      return changesInside(V, P);
  }
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(S)) {
    const VarDecl *V = dyn_cast<VarDecl>(R->getDecl());
    if (!V)
      return false;
    if (loopOf(V) || Parameters.count(V) || Reals.count(V) || Changed.count(V) || changesInside(V))
      return true;
    if (!V->isLocalVarDecl() || !V->getInit())
      return false;
    auto [At, New] = Varying.try_emplace(V, false);
    if (New) {
      const bool Varies = varies(V->getInit(), Depth + 1);
      Varying[V] = Varies;
      return Varies;
    }
    return At->second;
  }
  return llvm::any_of(S->children(), [&](const Stmt *Child) { return Child && varies(Child, Depth); });
}

uint32_t FillFormula::variable(const DeclRefExpr *R, unsigned Depth) {
  const VarDecl *V = dyn_cast<VarDecl>(R->getDecl());
  if (!V || Changed.count(V))
    return unknown(R);
  if (const std::optional<size_t> Loop = loopOf(V))
    return counter(*Loop);
  if (changesInside(V)) {
    const std::optional<uint32_t> Given = assigned(R, V, Depth);
    return Given ? *Given : counted(R, V, Depth);
  }
  if (auto At = Parameters.find(V); At != Parameters.end())
    return At->second;
  if (!V->isLocalVarDecl() || !V->getInit())
    return unknown(R);
  llvm::SaveAndRestore There(Varies, Varies & loopsAroundOf(V));
  return Parameters[V] = add(V->getInit(), Depth + 1); // once, however often it is used
}

uint32_t FillFormula::loopsAroundOf(const VarDecl *V) const {
  const DeclStmt *Declares = Outermost ? statementOf(V, Context) : nullptr;
  const llvm::SmallVector<const Stmt *, 4> Around = Declares ? loopsAround(Declares, Context) : llvm::SmallVector<const Stmt *, 4>();
  const auto At = llvm::find(Around, Outermost);
  const size_t Count = At - Around.begin() + 1;
  return At == Around.end() || Count > 31 ? ~0u : (1u << Count) - 1;
}

uint32_t FillFormula::operation(BinaryOperatorKind What, QualType T, uint32_t L, uint32_t R) {
  auto Not = [&](uint32_t A) { return binary(FillNode::Op::Equal, A, constant(0)); };
  auto IsOpen = [&](uint32_t A) { return isUnbounded(llvm::ArrayRef(Nodes).take_front(A + 1)); };
  if (BinaryOperator::isComparisonOp(What) && (IsOpen(L) || IsOpen(R))) // how often any number is zero says nothing
    return binary(FillNode::Op::And, push({FillNode::Op::Unknown, 64, true}), constant(1));
  switch (What) {
  case BO_Add: return typed(T, FillNode::Op::Add, L, R);
  case BO_Sub: return typed(T, FillNode::Op::Sub, L, R);
  case BO_Mul: return typed(T, FillNode::Op::Mul, L, R);
  case BO_Div: return typed(T, FillNode::Op::Div, L, R);
  case BO_Rem: return typed(T, FillNode::Op::Rem, L, R);
  case BO_And: return typed(T, FillNode::Op::And, L, R);
  case BO_Or: return typed(T, FillNode::Op::Or, L, R);
  case BO_Xor: return typed(T, FillNode::Op::Xor, L, R);
  case BO_Shl: return typed(T, FillNode::Op::Shl, L, R);
  case BO_Shr: return typed(T, FillNode::Op::Shr, L, R);
  case BO_LT: return binary(FillNode::Op::Less, L, R);
  case BO_GT: return binary(FillNode::Op::Less, R, L);
  case BO_LE: return Not(binary(FillNode::Op::Less, R, L));
  case BO_GE: return Not(binary(FillNode::Op::Less, L, R));
  case BO_EQ: return binary(FillNode::Op::Equal, L, R);
  case BO_NE: return Not(binary(FillNode::Op::Equal, L, R));
  case BO_LAnd: return Not(binary(FillNode::Op::Or, Not(L), Not(R)));
  case BO_LOr: return Not(binary(FillNode::Op::And, Not(L), Not(R)));
  default: return typed(T, FillNode::Op::Unknown);
  }
}

/// `int steps[] = {1, side, side * side}`: one of them.
uint32_t FillFormula::element(const ArraySubscriptExpr *S, unsigned Depth) {
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>(S->getBase()->IgnoreParenImpCasts());
  const VarDecl *V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
  const InitListExpr *List = V && V->getInit() ? dyn_cast<InitListExpr>(V->getInit()->IgnoreParenImpCasts()) : nullptr;
  auto IsStored = [&](const DeclRefExpr *Use) { // p[i] = x, f(p)
    auto Parents = Context.getParents(*Use);
    const Expr *Decay = Parents.empty() ? nullptr : Parents[0].get<ImplicitCastExpr>();
    Parents = Decay ? Context.getParents(*Decay) : Parents;
    const Expr *Subscript = Decay && !Parents.empty() ? Parents[0].get<ArraySubscriptExpr>() : nullptr;
    Parents = Subscript ? Context.getParents(*Subscript) : Parents;
    const ImplicitCastExpr *Read = Subscript && !Parents.empty() ? Parents[0].get<ImplicitCastExpr>() : nullptr;
    return !Read || Read->getCastKind() != CK_LValueToRValue;
  };
  if (!List || List->getNumInits() > MaxElements || !S->getType()->isIntegralOrEnumerationType())
    return unknown(S);
  if (auto At = Facts.Modified.find(V->getLocation().getRawEncoding()); At != Facts.Modified.end() && llvm::any_of(At->second, IsStored))
    return unknown(S);
  const uint32_t Index = add(S->getIdx(), Depth);
  uint32_t Out = constant(0);
  for (unsigned I = 0; I < List->getNumInits(); ++I) {
    const uint32_t Value = add(List->getInit(I), Depth + 1), Here = binary(FillNode::Op::Equal, Index, constant(I));
    Out = typed(S->getType(), FillNode::Op::Select, Here, Value, Out);
  }
  return Out;
}

uint32_t FillFormula::memberOfLocal(const MemberExpr *M, unsigned Depth) {
  Part P;
  const FieldDecl *F = dyn_cast<FieldDecl>(M->getMemberDecl());
  const DeclRefExpr *R = dyn_cast_or_null<DeclRefExpr>(wholeOf(M, P, Context));
  const VarDecl *V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
  const llvm::ArrayRef<const Expr *> Given = F ? givenTo(F, Facts) : llvm::ArrayRef<const Expr *>();
  const bool Here = V && V->isLocalVarDecl() && standsInside(V->getLocation()) && Given.size() == 1 && standsInside(Given.front()->getExprLoc());
  const bool Grows = F && Facts.MemberChanges.count(F->getLocation().getRawEncoding());
  return Here && !Grows && !Changed.count(F) ? typed(M->getType(), FillNode::Op::Convert, add(Given.front(), Depth + 1)) : unknown(M);
}

uint32_t FillFormula::memberOfThis(const MemberExpr *M) {
  Part P;
  const FieldDecl *F = dyn_cast<FieldDecl>(M->getMemberDecl());
  if (!This || !F || Changed.count(F) || !isa_and_nonnull<CXXThisExpr>(wholeOf(M, P, Context)))
    return unknown(M);
  Part InWhole = P;
  const DeclRefExpr *R = dyn_cast_or_null<DeclRefExpr>(wholeOf(This, InWhole, Context));
  const VarDecl *V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
  if (V && changesInside(V, InWhole))
    return unknown(M);
  const std::optional<Estimate> Value = Values.integer(This, P, F);
  return Value ? constant(Value->Value) : unknown(M);
}

uint32_t FillFormula::add(const Expr *E, unsigned Depth) {
  if (Depth > MaxDepth || Nodes.size() > MaxNodes || E->isValueDependent())
    return unknown(E);
  if (const FullExpr *Full = dyn_cast<FullExpr>(E))
    return add(Full->getSubExpr(), Depth);
  if (const ParenExpr *P = dyn_cast<ParenExpr>(E))
    return add(P->getSubExpr(), Depth);
  if (const MaterializeTemporaryExpr *M = dyn_cast<MaterializeTemporaryExpr>(E))
    return add(M->getSubExpr(), Depth);
  if (const InitListExpr *L = dyn_cast<InitListExpr>(E); L && L->getNumInits() == 1 && !L->getType()->isRecordType())
    return add(L->getInit(0), Depth);
  const bool Whole = E->getType().getNonReferenceType()->isIntegralOrEnumerationType();
  if (isa<ImplicitValueInitExpr>(E) && Whole)
    return constant(0);
  if (Whole && !varies(E, 0)) {
    std::optional<Estimate> Value = Values.integer(E);
    return Value ? constant(Value->Value) : unknown(E);
  }
  if (const CastExpr *C = dyn_cast<CastExpr>(E)) {
    if (C->getSubExpr()->getType().getNonReferenceType()->isIntegralOrEnumerationType() && Whole) {
      const uint32_t A = add(C->getSubExpr(), Depth);
      return C->getCastKind() == CK_IntegralCast ? typed(C->getType(), FillNode::Op::Convert, A) : A;
    }
    Draws |= anyDraw(E);
    const std::optional<uint32_t> Share = C->getCastKind() == CK_FloatingToIntegral ? cutShare(C->getSubExpr(), Depth) : std::nullopt;
    return Share ? typed(C->getType(), FillNode::Op::Convert, *Share) : unknown(E);
  }
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E))
    return variable(R, Depth);
  if (const MemberExpr *M = dyn_cast<MemberExpr>(E))
    return This ? memberOfThis(M) : memberOfLocal(M, Depth);
  if (const BinaryOperator *B = dyn_cast<BinaryOperator>(E)) {
    if (const std::optional<uint32_t> Share = shareBelow(B, Depth))
      return *Share;
    return Whole && !B->isAssignmentOp() && !B->isCommaOp() ? operation(B->getOpcode(), B->getType(), add(B->getLHS(), Depth), add(B->getRHS(), Depth)) : unknown(E);
  }
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E)) {
    if (U->isIncrementDecrementOp())
      return add(U->getSubExpr(), Depth);
    if (U->getOpcode() != UO_Minus && U->getOpcode() != UO_Plus && U->getOpcode() != UO_LNot && U->getOpcode() != UO_Not)
      return unknown(E);
    const uint32_t A = add(U->getSubExpr(), Depth);
    switch (U->getOpcode()) {
    case UO_Minus: return typed(E->getType(), FillNode::Op::Sub, constant(0), A);
    case UO_LNot: return binary(FillNode::Op::Equal, A, constant(0));
    case UO_Not: return typed(E->getType(), FillNode::Op::Xor, A, constant(-1));
    default: return A;
    }
  }
  if (const ConditionalOperator *C = dyn_cast<ConditionalOperator>(E)) {
    const uint32_t If = add(C->getCond(), Depth), Then = add(C->getTrueExpr(), Depth), Else = add(C->getFalseExpr(), Depth);
    return typed(E->getType(), FillNode::Op::Select, If, Then, Else);
  }
  if (const ArraySubscriptExpr *S = dyn_cast<ArraySubscriptExpr>(E))
    return element(S, Depth);
  if (const CallExpr *C = dyn_cast<CallExpr>(E)) {
    Draws |= drawsAtRandom(C);
    return call(C, Depth);
  }
  return unknown(E);
}

} // namespace restride
