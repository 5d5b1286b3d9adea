// Where a tracked pointer goes on: to another variable, or into a call.

#include "analysis/program/Purity.h"
#include "analysis/program/Uses.h"

#include "clang/AST/ASTLambda.h"

using namespace clang;

namespace restride {

/// The pointer goes on to another node.
void UseClassifier::shifted(const Expr *E, const Pointer &P) {
  if (leavesDeclaredArray(E, P))
    return;
  std::optional<Range> R = View.range(E->getSourceRange());
  if (!R && P.Terms.empty() && P.Base && Graph.facts(P.Node).Slot.empty())
    return; // by a macro, as it is
  std::optional<Element> What = elementOf(P, E->getExprLoc());
  if (R && What)
    Graph.facts(P.Node).Sites.Shifts.push_back({*R, *What, View.where(E->getExprLoc())});
  else if (!R)
    refuse(P, E->getExprLoc(), "a macro's body moves the pointer");
}

void UseClassifier::asArgument(const CallExpr *Call, const Expr *E, const Pointer &P, NodeId Parameter) {
  NodeId Outside = Graph.argument(E, Parameter, Caller);
  Graph.unite(P.Node, Outside);
  if (leavesDeclaredArray(E, P))
    return;
  std::optional<Range> R = View.range(E->getSourceRange());
  Argument Site;
  Site.Call = View.range(Call->getSourceRange());
  Site.Parameter = Graph.facts(Parameter).Slot;
  Site.ByReference = Graph.facts(Parameter).ToElement;
  Site.Where = View.where(E->getExprLoc());
  if (R) {
    std::optional<Element> What = elementOf(P, E->getExprLoc());
    if (!What)
      return;
    Site.Whole = *R;
    Site.What = *What;
  } else if (!P.Terms.empty() || !Graph.facts(P.Node).Slot.empty()) {
    return refuse(P, E->getExprLoc(), "a macro's body moves the pointer");
  }
  Graph.facts(P.Node).Sites.Arguments.push_back(std::move(Site));
}

const Expr *exchangedWith(const CallExpr *Call) {
  const FunctionDecl *Callee = Call->getDirectCallee();
  bool Exchange = Callee && Callee->isInStdNamespace() && Callee->getDeclName().isIdentifier() && Callee->getName() == "exchange" && Call->getNumArgs() == 2;
  return Exchange ? Call->getArg(1) : nullptr;
}

void UseClassifier::pointerArgument(const CallExpr *Call, const Expr *E, const Pointer &P) {
  auto Unknown = [&](std::string What) { refuse(P, E->getExprLoc(), std::move(What)); };
  const FunctionDecl *Callee = Call->getDirectCallee();
  if (!Callee)
    return Unknown("the pointer is passed through a function pointer");
  if (runtimeCall(Call, E, P, false))
    return;
  if (Graph.scalars() && touchesOneObject(Callee))
    return addAccess(Access::Address, E, P, {}); // atomicAdd(x + i, 1)
  if (isLambdaCallOperator(Callee))
    return Unknown("the pointer is passed to a lambda, whose calls are not followed; make it a function");
  std::string Name = "'" + Callee->getNameAsString() + "'";
  unsigned Argument = std::find(Call->arg_begin(), Call->arg_end(), E) - Call->arg_begin();
  if (isa<CXXOperatorCallExpr>(Call) || Argument >= Callee->getNumParams())
    return Unknown("the pointer is passed to " + Name + ", which takes anything");
  bool Swap = Callee->isInStdNamespace() && Callee->getName() == "swap" && Call->getNumArgs() == 2;
  if (Swap)
    return P.Terms.empty() ? flowInto(P.Node, Call->getArg(1 - Argument)) : Unknown("a pointer into the array is swapped");
  if (const Expr *Other = exchangedWith(Call); Other && Argument == 0 && P.Terms.empty()) {
    flowInto(P.Node, Other);
    Pointer Before = P;
    Before.Base = Call;
    return resultIsUnused(Call) ? void() : pointer(Call, Before);
  }
  const ParmVarDecl *Parameter = Callee->getParamDecl(Argument);
  std::optional<NodeId> Node = Graph.node(Parameter);
  if (!Node)
    return Unknown("the pointer is passed to " + Name + ", whose parameter cannot be followed");
  if (!Callee->isDefined())
    Graph.require(P.Node, Graph.function(Callee), E->getExprLoc(), "the pointer is passed to " + Name + ", whose body is not seen");
  asArgument(Call, E, P, *Node);
}

void UseClassifier::pointerInitialises(const VarDecl *V, const Expr *E, const Pointer &P) {
  if (V->isLocalVarDecl() && (walks(V) || (!P.Terms.empty() && !isModified(Facts, V)))) {
    Pointer First = P;
    if (First.Terms.empty())
      First.Terms.push_back({nullptr, "0", false});
    return makeAlias(V, First);
  }
  if (V->isInitCapture())
    return refuse(P, V->getLocation(), "a lambda captures the pointer under another name");
  std::optional<NodeId> Node = Graph.node(V);
  if (!Node)
    return refuse(P, V->getLocation(), "'" + V->getName().str() + "' holds the pointer in a way that cannot be followed");
  Graph.unite(P.Node, *Node);
  shifted(E, P);
}

} // namespace restride
