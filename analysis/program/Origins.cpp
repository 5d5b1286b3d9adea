// What a value brings into a tracked pointer: another tracked pointer, null, or
// memory that is not the program's device memory.

#include "analysis/program/Allocators.h"
#include "analysis/program/Declarations.h"
#include "analysis/program/Owners.h"
#include "analysis/program/Purity.h"
#include "analysis/program/Uses.h"

using namespace clang;

namespace restride {

/// Memory of the host, or null where the call is of something else.
static bool allocatesHostMemory(const Expr *E) {
  if (isa<CXXNewExpr>(E))
    return true;
  const CallExpr *C = dyn_cast<CallExpr>(E);
  const FunctionDecl *F = C ? C->getDirectCallee() : nullptr;
  if (!F || !F->getDeclName().isIdentifier())
    return false;
  llvm::StringRef Name = F->getName();
  if (Name == "malloc" || Name == "calloc" || Name == "realloc" || Name == "aligned_alloc" || Name == "data")
    return true;
  return false;
}

void UseClassifier::flowInto(NodeId Node, const Expr *Source) {
  if (Source->getType()->isRecordType()) { // a std::unique_ptr
    for (SourceRange Named : ownersNamed(Source))
      ownerNamed(Node, Named);
    Source = ownedBy(Source);
    if (!Source)
      return;
  }
  const Expr *E = Source->IgnoreParenImpCasts();
  if (const Expr *Owner = ownerOf(E))
    return flowInto(Node, Owner);
  auto From = [&](Origin::Kind K, std::string What) {
    Graph.facts(Node).Origins.push_back({K, View.where(E->getExprLoc()), std::move(What)});
  };
  auto Tracked = [&](const ValueDecl *D) {
    if (Facts.Aliases.count(D))
      return true;
    std::optional<NodeId> Other = Graph.node(E);
    if (Other)
      Graph.unite(Node, *Other);
    return Other.has_value();
  };
  if (const InitListExpr *L = dyn_cast<InitListExpr>(E)) {
    for (const Expr *Init : L->inits())
      flowInto(Node, Init);
    return;
  }
  if (isa<ImplicitValueInitExpr>(E))
    return;
  if (E->isNullPointerConstant(Context, Expr::NPC_ValueDependentIsNull)) {
    if (std::optional<Range> R = View.range(Source->getSourceRange()))
      Graph.facts(Node).Sites.Nulls.push_back({*R});
    else
      Graph.refuse(Node, E->getExprLoc(), "a macro's body sets the pointer to null", "soa");
    return;
  }
  if (const CastExpr *C = dyn_cast<CastExpr>(E)) {
    const Expr *Inner = C->getSubExpr()->IgnoreParenImpCasts();
    if (Inner->isNullPointerConstant(Context, Expr::NPC_ValueDependentIsNull))
      return flowInto(Node, Inner);
    if (allocatesHostMemory(Inner))
      return From(Origin::Host, "host memory");
    if (std::optional<NodeId> Other = Inner->getType()->isVoidPointerType() ? Graph.node(Inner) : std::nullopt)
      return Graph.unite(Node, *Other);
    if (allocated(Node, C))
      return;
    if (const CallExpr *Call = dyn_cast<CallExpr>(Inner); Call && Call->getDirectCallee() && View.isUserCode(Call->getDirectCallee()->getLocation()))
      return From(Origin::Unknown, "'" + Call->getDirectCallee()->getNameAsString() + "', which is not seen to give out device memory of its own");
    return From(Origin::Unknown, "a cast from '" + Inner->getType().getAsString() + "'");
  }
  if (const ConditionalOperator *C = dyn_cast<ConditionalOperator>(E)) {
    for (const Expr *Arm : {C->getTrueExpr(), C->getFalseExpr()}) {
      if (Arm->IgnoreParenImpCasts()->isNullPointerConstant(Context, Expr::NPC_ValueDependentIsNull))
        Graph.refuse(Node, Arm->getExprLoc(), "a condition chooses between the array and a null pointer", "soa");
      else
        flowInto(Node, Arm);
    }
    return;
  }
  if (const BinaryOperator *B = dyn_cast<BinaryOperator>(E); B && B->isAdditiveOp())
    return flowInto(Node, B->getLHS()->getType()->isPointerType() || B->getLHS()->getType()->isArrayType() ? B->getLHS() : B->getRHS());
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E); U && U->getOpcode() == UO_AddrOf) {
    const Expr *Of = U->getSubExpr()->IgnoreParenImpCasts();
    if (const ArraySubscriptExpr *A = dyn_cast<ArraySubscriptExpr>(Of))
      return flowInto(Node, A->getBase());
    if (const UnaryOperator *Target = dyn_cast<UnaryOperator>(Of); Target && Target->getOpcode() == UO_Deref)
      return flowInto(Node, Target->getSubExpr());
    if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(Of); R && Facts.Aliases.count(R->getDecl()))
      return;
    const DeclRefExpr *Name = dyn_cast<DeclRefExpr>(Of);
    if (std::optional<NodeId> Other = Name ? Graph.node(Name->getDecl()) : std::nullopt; Other && Graph.facts(*Other).ToElement)
      return Graph.unite(Node, *Other);
    return From(Origin::Host, "the address of a single object");
  }
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E); R && Tracked(R->getDecl()))
    return;
  if (const MemberExpr *M = dyn_cast<MemberExpr>(E); M && Tracked(M->getMemberDecl()))
    return;
  if (std::optional<NodeId> Entry = isa<ArraySubscriptExpr, UnaryOperator>(E) ? Graph.node(E) : std::nullopt)
    return Graph.unite(Node, *Entry);
  if (const CallExpr *C = dyn_cast<CallExpr>(E); C && exchangedWith(C))
    return flowInto(Node, C->getArg(0));
  if (const CallExpr *C = dyn_cast<CallExpr>(E); C && C->getDirectCallee())
    if (std::optional<NodeId> Other = Graph.result(C->getDirectCallee()))
      return Graph.unite(Node, Graph.callResult(C, *Other, Caller));
  if (E->getType()->isArrayType() || allocatesHostMemory(E))
    return From(Origin::Host, "an array that is not cudaMalloc's");
  if (E->getType()->isRecordType())
    return From(Origin::Unknown, "an owner that is no std::unique_ptr with a deleter that does nothing but cudaFree");
  const ArraySubscriptExpr *OneOfMany = dyn_cast<ArraySubscriptExpr>(E);
  From(Origin::Unknown, OneOfMany ? "an array of pointers; give each array a pointer of its own" : "a value that cannot be followed");
}

/// An expression says the type of an owner.
void UseClassifier::ownerNamed(NodeId Node, SourceRange Type) {
  if (std::optional<Range> R = View.range(Type))
    Graph.facts(Node).Sites.OwnerNames.push_back({*R, scopeName(Graph.decl(Graph.facts(Node).Record))});
  else
    Graph.refuse(Node, Type.getBegin(), "the type of the pointer's owner is written by a macro");
}

/// \p Cast gives memory its type that a function of the program's gives out: `(P *)upload(host, bytes)`.
bool UseClassifier::allocated(NodeId Node, const CastExpr *Cast) {
  const CallExpr *Call = dyn_cast<CallExpr>(Cast->getSubExpr()->IgnoreParenImpCasts());
  const ParmVarDecl *Count = Call && !Graph.scalars() ? allocatedBytes(Call->getDirectCallee(), View, Context) : nullptr;
  const unsigned At = Count ? Count->getFunctionScopeIndex() : 0;
  const QualType To = Cast->getType();
  if (!Count || At >= Call->getNumArgs() || isa<CXXOperatorCallExpr>(Call) || !To->isPointerType() ||
      !Context.hasSameUnqualifiedType(To->getPointeeType(), Graph.type(Graph.facts(Node).Record)))
    return false;
  const Expr *Bytes = Call->getArg(At);
  const std::optional<Range> Whole = View.range(Cast->getSourceRange()), Text = View.range(Bytes->getSourceRange());
  const bool Twice = isPure(Bytes) && llvm::none_of(Call->arguments(), [&](const Expr *A) { return A != Bytes && orderMatters({A, Bytes}); });
  if (!Whole || !Text || !Twice)
    return false;
  HostCall Site;
  Site.What = HostCall::From;
  Site.Where = View.where(Call->getExprLoc());
  Site.Callee = *Whole;
  Site.Count = *Text;
  HostCall::Pointer Place;
  Place.Whole = *Whole;
  Site.Pointers.push_back(std::move(Place));
  std::vector<HostCall> &Sites = Graph.facts(Node).Sites.Calls;
  Facts.Calls.push_back({Node, Sites.size(), Call, Bytes});
  Sites.push_back(std::move(Site));
  return true;
}

/// No name of a program's.
static constexpr llvm::StringLiteral SingleObjects = "single objects of record ";

/// \p Node is a reference parameter: the argument is an element, or an object of its own.
void UseClassifier::elementFlowsInto(NodeId Node, const Expr *Source) {
  const Expr *E = Source->IgnoreParenImpCasts();
  const Expr *Base = E;
  while (const ArraySubscriptExpr *A = dyn_cast<ArraySubscriptExpr>(Base))
    Base = A->getBase()->IgnoreParenImpCasts();
  const DeclRefExpr *Array = dyn_cast<DeclRefExpr>(Base);
  const std::optional<NodeId> Declared = Array ? Graph.node(Array->getDecl()) : std::nullopt;
  const bool Copied = Declared && Graph.facts(*Declared).Sites.declared(); // or it is refused
  if (const ArraySubscriptExpr *A = dyn_cast<ArraySubscriptExpr>(E); A && !Copied)
    return flowInto(Node, A->getBase());
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E); U && U->getOpcode() == UO_Deref)
    return flowInto(Node, U->getSubExpr());
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E)) {
    if (auto At = Facts.Aliases.find(R->getDecl()); At != Facts.Aliases.end() && !Graph.facts(At->second.Node).Sites.declared())
      return;
    if (std::optional<NodeId> Other = Graph.node(R->getDecl()); Other && Graph.facts(*Other).ToElement)
      return Graph.unite(Node, *Other);
  }
  Graph.facts(Node).Origins.push_back({Origin::Host, View.where(E->getExprLoc()), "a single object"});
  Graph.link(Node, SingleObjects.str() + std::to_string(Graph.facts(Node).Record)); // one way to call a function, however many
}

void UseClassifier::passed(const CallExpr *Call, const Expr *Argument, NodeId Parameter) {
  NodeId Outside = Graph.argument(Argument, Parameter, Caller);
  Graph.bind(Call, Outside, Parameter, Caller);
  Graph.facts(Outside).Null = Argument->IgnoreParenImpCasts()->isNullPointerConstant(Context, Expr::NPC_ValueDependentIsNull);
  const UnaryOperator *Address = dyn_cast<UnaryOperator>(Argument->IgnoreParenImpCasts());
  if (Graph.facts(Parameter).ByAddress && Address && Address->getOpcode() == UO_AddrOf)
    flowInto(Outside, Address->getSubExpr());
  else if (Graph.facts(Parameter).ToElement)
    elementFlowsInto(Outside, Argument);
  else
    flowInto(Outside, Argument);
}

} // namespace restride
