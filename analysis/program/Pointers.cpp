// Where a tracked pointer goes.

#include "analysis/program/Around.h"
#include "analysis/program/Owners.h"
#include "analysis/program/Released.h"
#include "analysis/program/Untyped.h"
#include "analysis/program/Uses.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace restride {

bool isModified(const UnitFacts &Facts, const VarDecl *V) {
  if (!Facts.Alone && V->hasGlobalStorage() && V->isExternallyVisible() && !V->getType().isConstQualified())
    return true;
  return Facts.Modified.count(V->getLocation().getRawEncoding());
}

const Stmt *UseClassifier::parent(const Expr *E, const VarDecl **Variable) const {
  // An initialiser stands in a list as it is written, too; what is done with it
  // the other form of the list says.
  const Stmt *List = nullptr;
  for (const DynTypedNode &P : Context.getParents(*E)) {
    const Stmt *S = P.get<Stmt>();
    if (S && !isa<InitListExpr>(S))
      return S;
    if (S && !List)
      List = S;
    if (!S && !List && Variable)
      *Variable = P.get<VarDecl>();
    if (!S)
      break;
  }
  return List;
}

void UseClassifier::refuse(const Pointer &P, SourceLocation L, std::string Reason, std::string Layout) {
  Graph.refuse(P.Node, L, std::move(Reason), std::move(Layout));
}

bool UseClassifier::resultIsUnused(const Expr *E) const {
  const Stmt *P = parent(E);
  if (!P || isa<CompoundStmt, IfStmt, SwitchCase, WhileStmt, DoStmt, LabelStmt>(P))
    return P && (!isa<IfStmt>(P) || cast<IfStmt>(P)->getCond() != E) &&
           (!isa<WhileStmt>(P) || cast<WhileStmt>(P)->getCond() != E) &&
           (!isa<DoStmt>(P) || cast<DoStmt>(P)->getCond() != E);
  if (const ForStmt *F = dyn_cast<ForStmt>(P))
    return F->getCond() != E;
  if (const BinaryOperator *B = dyn_cast<BinaryOperator>(P); B && B->isCommaOp())
    return B->getLHS() == E || resultIsUnused(B);
  if (const CStyleCastExpr *C = dyn_cast<CStyleCastExpr>(P))
    return C->getType()->isVoidType();
  if (const Expr *Wrapper = dyn_cast<Expr>(P); Wrapper && isa<ParenExpr, ExprWithCleanups>(Wrapper))
    return resultIsUnused(Wrapper);
  return false;
}

void UseClassifier::reference(const Expr *E, const ValueDecl *D) {
  if (auto At = Facts.Aliases.find(D); At != Facts.Aliases.end()) {
    Pointer P;
    if (At->second.Instead) {
      P = *At->second.Instead;
      P.Elsewhere = true;
    } else {
      P.Node = At->second.Node;
      P.BaseName = At->second.Base;
      P.Terms.push_back({nullptr, At->second.Name, false});
    }
    if (D->getType()->isReferenceType())
      element(E, P);
    else
      pointer(E, P);
    return;
  }
  if (std::optional<NodeId> Node = Graph.node(E)) {
    Pointer P;
    P.Node = *Node;
    if (const MemberExpr *M = dyn_cast<MemberExpr>(E); M && Graph.node(D) != Node)
      Graph.facts(*Node).Sites.MemberNames.push_back({View.range(M->getMemberLoc()), int(*Graph.node(D)), View.where(M->getMemberLoc())});
    P.Base = E;
    if (Graph.scalars())
      mention(E, P);
    if (const VarDecl *V = dyn_cast<ParmVarDecl>(D))
      Graph.facts(*Node).Modified |= isModified(Facts, V);
    if (Graph.facts(*Node).Sites.declared())
      return declaredArray(E, P);
    if (Graph.facts(*Node).Several)
      return entry(E, P);
    if (Graph.facts(*Node).ByAddress)
      return addressed(E, P);
    if (!Graph.facts(*Node).Owns.empty())
      return owner(E, P);
    Graph.facts(*Node).ToElement ? element(E, P) : pointer(E, P);
  }
}

void UseClassifier::initialises(NodeId Node, const FieldDecl *Member, const Expr *Value) {
  if (NodeId All = *Graph.node(Member); All != Node && !Value->IgnoreParenImpCasts()->isNullPointerConstant(Context, Expr::NPC_ValueDependentIsNull))
    Graph.facts(Node).Sites.MemberNames.push_back({std::nullopt, int(All), View.where(Value->getExprLoc())});
  flowInto(Node, Value);
}

/// Where an array of numbers is named, so that no place is forgotten.
void UseClassifier::mention(const Expr *E, const Pointer &P) {
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E);
  SourceLocation Name = R ? R->getLocation() : cast<MemberExpr>(E)->getMemberLoc();
  if (std::optional<Range> R = View.range(Name))
    Graph.facts(P.Node).Sites.Mentions.push_back({*R, View.where(Name)});
  else
    refuse(P, Name, std::string("this use of the pointer") + View.whyNoRange(Name));
}

void UseClassifier::callResult(const CallExpr *E, NodeId Node) {
  Pointer P;
  P.Node = Graph.callResult(E, Node, Caller);
  P.Base = E;
  if (!Graph.facts(Node).Owns.empty())
    ownerGoesOn(E, P);
  else if (!resultIsUnused(E))
    pointer(E, P);
}

bool UseClassifier::isTracked(const Expr *E) {
  E = E->IgnoreParenImpCasts();
  if (const ConditionalOperator *C = dyn_cast<ConditionalOperator>(E))
    return isTracked(C->getTrueExpr()) || isTracked(C->getFalseExpr());
  if (isa<DeclRefExpr, MemberExpr, ArraySubscriptExpr, UnaryOperator>(E))
    return Graph.node(E).has_value();
  const CallExpr *Call = dyn_cast<CallExpr>(E);
  return Call && Call->getDirectCallee() && Graph.result(Call->getDirectCallee());
}

/// \p E stands in the list of an aggregate, for a member that is followed, or in that of an array of pointers: united where
/// lists are visited.
static bool initialisesMember(const Expr *E, Flow &Graph, ASTContext &Context) {
  for (const DynTypedNode &Parent : Context.getParents(*E)) {
    const InitListExpr *L = Parent.get<InitListExpr>();
    if (L && L->getSemanticForm())
      L = L->getSemanticForm();
    const CXXRecordDecl *Record = L ? L->getType()->getAsCXXRecordDecl() : nullptr;
    if (L && L->getType()->isArrayType()) // of pointers
      for (const DynTypedNode &Declared : Context.getParents(*L))
        if (const VarDecl *V = Declared.get<VarDecl>())
          return Graph.node(V).has_value();
    if (!Record || !Record->isAggregate() || Record->isUnion())
      continue;
    for (const FieldDecl *F : Record->fields())
      if (const unsigned At = F->getFieldIndex() + Record->getNumBases(); At < L->getNumInits() && L->getInit(At) == E)
        return Graph.node(F).has_value();
  }
  return false;
}

/// The variable that \p E is the name of; null: it is no such.
static const ValueDecl *named(const Expr *E) {
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E);
  return R ? R->getDecl() : nullptr;
}

void UseClassifier::pointer(const Expr *E, Pointer P) {
  const VarDecl *Variable = nullptr;
  const Stmt *S = parent(E, &Variable);
  if (Variable)
    return pointerInitialises(Variable, E, P);
  bool Plain = P.Terms.empty();
  auto Unknown = [&](std::string What = "this use of the pointer is not understood") {
    refuse(P, E->getExprLoc(), std::move(What));
  };
  if (!S) {
    auto Parents = Context.getParents(*E);
    if (!Parents.empty() && Parents[0].get<CXXConstructorDecl>())
      return shifted(E, P); // united where constructors are visited
    return Unknown();
  }

  if (isa<ParenExpr, ExprWithCleanups>(S)) {
    if (Plain && P.Base)
      P.Base = cast<Expr>(S);
    return pointer(cast<Expr>(S), P);
  }
  if (const CastExpr *Cast = dyn_cast<CastExpr>(S)) {
    QualType To = Cast->getType();
    if (Cast->getCastKind() == CK_PointerToBoolean)
      return test(E, P);
    if (To->isVoidType())
      return;
    if (toBase(Cast))
      return baseMember(Cast, P);
    bool Same = To->isPointerType() && !To->getPointeeType()->isVoidType() &&
                Context.hasSameUnqualifiedType(To->getPointeeType(), E->getType().getNonReferenceType()->getPointeeType());
    if (Same && isa<ImplicitCastExpr>(Cast))
      return pointer(Cast, P);
    if (To->isVoidPointerType()) {
      if (const ExplicitCastExpr *Typed = E->getType()->isVoidPointerType() ? typedBy(E, Context) : nullptr)
        return typed(Typed, E, P);
      // Only the runtime's calls and null tests may see an untyped pointer.
      const Expr *Outer = Cast;
      const Stmt *Above = parent(Outer);
      while (const CastExpr *More = dyn_cast_or_null<CastExpr>(Above)) {
        if (More->getCastKind() == CK_PointerToBoolean)
          return test(E, P);
        Outer = More;
        Above = parent(Outer);
      }
      const CallExpr *Call = dyn_cast_or_null<CallExpr>(Above);
      if (Call && runtimeCall(Call, Outer, P, false))
        return;
      if (const BinaryOperator *B = dyn_cast_or_null<BinaryOperator>(Above); B && comparison(B, Outer, P))
        return;
      if (!Graph.scalars() && Plain && onlyReleased(Outer, Context))
        return test(E, P);
      return Unknown(Call ? "the pointer is passed to a function that takes any pointer and whose use of it is not known"
                          : "the pointer becomes a pointer without a type");
    }
    return Unknown("the pointer is cast to '" + To.getAsString() + "'");
  }
  if (Facts.Aliases.count(named(E)) && isStep(E)) // the index takes the same step
    return;
  if (const BinaryOperator *B = dyn_cast<BinaryOperator>(S)) {
    if (B->isAdditiveOp()) {
      const Expr *Other = B->getLHS() == E ? B->getRHS() : B->getLHS();
      if (!Other->getType()->isIntegralOrEnumerationType())
        return ofOneArray(B, E, P) ? void() : Unknown("the difference of two pointers depends on the layout");
      P.Terms.push_back({Other, "", B->getOpcode() == BO_Sub});
      return pointer(B, P);
    }
    if (B->getOpcode() == BO_Assign) {
      if (B->getLHS() == E) {
        if (!Plain)
          return Unknown();
        if (!resultIsUnused(B))
          return Unknown("the value of an assignment to the pointer is used");
        flowInto(P.Node, B->getRHS());
        return nullStatement(B, P);
      }
      std::optional<NodeId> Other = Graph.node(B->getLHS()->IgnoreParens());
      if (!Other)
        return Unknown("the pointer is stored where it cannot be followed");
      Graph.unite(P.Node, *Other);
      return shifted(E, P);
    }
    if (B->isComparisonOp())
      return comparison(B, E, P) ? void() : Unknown("comparing two element pointers depends on the layout");
    if (B->isCommaOp() && B->getRHS() == E)
      return pointer(B, P);
    return Unknown(B->isCompoundAssignmentOp() ? "the pointer walks over the array" : "this use of the pointer is not understood");
  }
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(S)) {
    if (U->getOpcode() == UO_Deref)
      return element(U, P);
    if (U->getOpcode() == UO_AddrOf)
      return Plain ? addressGoesOn(U, P) : Unknown();
    return Unknown(U->isIncrementDecrementOp() ? "the pointer walks over the array"
                                               : "this use of the pointer is not understood");
  }
  if (const ArraySubscriptExpr *A = dyn_cast<ArraySubscriptExpr>(S)) {
    if (A->getBase() != E)
      return Unknown();
    P.Terms.push_back({A->getIdx(), "", false});
    return element(A, P);
  }
  if (const MemberExpr *M = dyn_cast<MemberExpr>(S))
    return Graph.scalars() ? Unknown("an element is taken apart through the pointer") : member(M, P, {M});
  if (const ConditionalOperator *C = dyn_cast<ConditionalOperator>(S)) {
    if (!Plain)
      return Unknown("a pointer into the array is chosen by a condition");
    const Expr *Other = C->getTrueExpr() == E ? C->getFalseExpr() : C->getTrueExpr();
    flowInto(P.Node, Other);
    // Where both arms are tracked the first speaks for the whole.
    if (C->getTrueExpr() != E && isTracked(C->getTrueExpr()))
      return;
    P.Base = C;
    return pointer(C, P);
  }
  if (const CallExpr *Call = dyn_cast<CallExpr>(S))
    return pointerArgument(Call, E, P);
  if (const ReturnStmt *R = dyn_cast<ReturnStmt>(S))
    return shifted(R->getRetValue(), P); // united where functions are visited
  if (isa<UnaryExprOrTypeTraitExpr>(S))
    return Unknown("the size of the pointer is taken");
  if (const CXXConstructExpr *C = dyn_cast<CXXConstructExpr>(S))
    return Plain && C->getNumArgs() > 0 && ownedRecord(C->getType(), View) ? ownerGoesOn(C, P) : Unknown("the pointer is passed to a constructor");
  if (isa<InitListExpr>(S))
    return initialisesMember(E, Graph, Context) ? shifted(E, P) : Unknown("the pointer is stored by an initialiser list");
  if (isa<LambdaExpr>(S))
    return;
  if (isa<CXXDeleteExpr>(S)) {
    Graph.facts(P.Node).Origins.push_back({Origin::Host, View.where(E->getExprLoc()), "delete"});
    return;
  }
  if (resultIsUnused(E))
    return;
  Unknown();
}

/// \p E, a variable `void *`, has the type that \p Cast gives it.
void UseClassifier::typed(const ExplicitCastExpr *Cast, const Expr *E, Pointer P) {
  const QualType To = Cast->getType();
  if (!To->isPointerType() || !Context.hasSameUnqualifiedType(To->getPointeeType(), Graph.type(Graph.facts(P.Node).Record)))
    return refuse(P, E->getExprLoc(), "the pointer is cast to '" + To.getAsString() + "'");
  std::optional<Range> Whole = View.range(Cast->getSourceRange()), Inner = View.range(Cast->getSubExpr()->getSourceRange());
  if (!Whole || !Inner)
    return refuse(P, E->getExprLoc(), std::string("this cast") + View.whyNoRange(E->getExprLoc()));
  std::vector<Respelling> &Edits = Graph.facts(P.Node).Sites.Respellings;
  Edits.push_back({{Whole->Begin, Inner->Begin}, ""});
  if (Inner->End < Whole->End)
    Edits.push_back({{Inner->End, Whole->End}, ""});
  P.Base = Cast;
  pointer(Cast, P);
}

} // namespace restride
