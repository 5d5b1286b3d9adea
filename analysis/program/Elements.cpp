// What is done with an element p[i] and with its members.

#include "analysis/program/Purity.h"
#include "analysis/program/Uses.h"

using namespace clang;

namespace restride {

/// `a = b` that copies all bytes of a record.
static bool isPlainAssignment(const CXXOperatorCallExpr *O) {
  const CXXMethodDecl *M = dyn_cast_or_null<CXXMethodDecl>(O->getDirectCallee());
  return M && (M->isCopyAssignmentOperator() || M->isMoveAssignmentOperator()) && M->isTrivial();
}

/// The member as the source names it: for a function that is "get<2>" or "P::get" too.
std::optional<std::string> UseClassifier::nameOf(const MemberExpr *M) const {
  if (isa<FieldDecl>(M->getMemberDecl()))
    return M->getMemberDecl()->getName().str();
  SourceLocation Begin = M->hasQualifier() ? M->getQualifierLoc().getBeginLoc() : M->getMemberLoc();
  std::optional<Range> R = View.range({Begin, M->getEndLoc()});
  return R ? std::optional(View.text(*R).str()) : std::nullopt;
}

std::optional<std::vector<Step>> UseClassifier::steps(llvm::ArrayRef<const Expr *> Path) const {
  std::vector<Step> Out;
  for (const Expr *S : Path) {
    if (const MemberExpr *M = dyn_cast<MemberExpr>(S)) {
      if (isa<FieldDecl>(M->getMemberDecl()) && M->getMemberDecl()->getName().empty()) // a struct without a name
        continue;
      std::optional<std::string> Name = nameOf(M);
      if (!Name)
        return std::nullopt;
      Out.push_back({*Name, {}});
      continue;
    }
    std::optional<Range> R = View.range(cast<ArraySubscriptExpr>(S)->getIdx()->getSourceRange());
    if (!R)
      return std::nullopt;
    Out.back().Subscripts.push_back(*R);
  }
  return Out;
}

void UseClassifier::addAccess(Access::Kind K, const Expr *E, const Pointer &P, llvm::ArrayRef<const Expr *> Path,
                              const Expr *Value) {
  Access A;
  A.K = K;
  A.Where = View.where(E->getExprLoc());
  std::optional<Range> Whole = View.range(E->getSourceRange());
  std::optional<Element> What = elementOf(P, E->getExprLoc());
  if (!What)
    return;
  auto Macro = [&] { refuse(P, E->getExprLoc(), std::string("this access") + View.whyNoRange(E->getExprLoc())); };
  if (!Whole)
    return Macro();
  A.Whole = *Whole;
  A.What = *What;
  if (K == Access::Load)
    A.Deduced = Path.empty() && typeIsDeduced(E);
  std::vector<const Expr *> Operands = operands(P);
  if (Value)
    Operands.push_back(Value);
  for (const Expr *S : Path)
    if (const ArraySubscriptExpr *Subscript = dyn_cast<ArraySubscriptExpr>(S))
      Operands.push_back(Subscript->getIdx());
  if (orderMatters(Operands))
    return refuse(P, E->getExprLoc(), "the order in which the parts of this access are evaluated matters, and would change");
  std::optional<std::vector<Step>> Steps = steps(Path);
  if (!Steps)
    return Macro();
  A.Path = std::move(*Steps);
  if (Value) {
    A.Value = View.range(Value->getSourceRange());
    if (!A.Value)
      return Macro();
  }
  Graph.facts(P.Node).Sites.Accesses.push_back(std::move(A));
}

void UseClassifier::element(const Expr *E, Pointer P) {
  const VarDecl *Variable = nullptr;
  const Stmt *S = parent(E, &Variable);
  auto Unknown = [&](std::string What) { refuse(P, E->getExprLoc(), std::move(What)); };
  if (Variable && Graph.scalars())
    return Variable->getType()->isReferenceType() && !onlyDereferenced(Variable, Context)
               ? Unknown("a reference to an element is kept, and may be used to reach its neighbours")
               : addAccess(Access::Leaf, E, P, {});
  if (Variable && isa<DecompositionDecl>(Variable))
    return Unknown("a structured binding takes an element apart in place");
  if (Variable)
    return Variable->getType()->isReferenceType() ? makeAlias(Variable, P)
                                                  : Unknown("this initialisation is not understood");
  if (!S)
    return Unknown("this use of an element is not understood");
  if (isa<ParenExpr>(S) || (isa<ImplicitCastExpr>(S) && cast<ImplicitCastExpr>(S)->getCastKind() == CK_NoOp)) {
    const Expr *Outer = cast<Expr>(S);
    // "(p[i]) = t" keeps its parentheses as part of the access.
    return element(Outer, P);
  }
  if (Graph.scalars())
    return number(E, S, P);
  if (const MemberExpr *M = dyn_cast<MemberExpr>(S))
    return member(M, P, {M});
  if (const CastExpr *Cast = dyn_cast<CastExpr>(S); Cast && toBase(Cast))
    return baseMember(Cast, P);
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(S); U && U->getOpcode() == UO_AddrOf)
    return pointer(U, P);
  if (const UnaryExprOrTypeTraitExpr *T = dyn_cast<UnaryExprOrTypeTraitExpr>(S)) {
    std::optional<Range> R = View.range(T->getArgumentExpr()->getSourceRange());
    if (T->getKind() != UETT_SizeOf || !R)
      return Unknown("a property of an element's type is asked for");
    Graph.facts(P.Node).Sites.Sizes.push_back({*R});
    return;
  }
  if (const CXXOperatorCallExpr *O = dyn_cast<CXXOperatorCallExpr>(S); O && isPlainAssignment(O) && O->getArg(0) == E) {
    if (!resultIsUnused(O))
      return Unknown("the value of an assignment to an element is used");
    return addAccess(Access::Store, O, P, {}, O->getArg(1));
  }
  const CallExpr *Call = dyn_cast<CallExpr>(S);
  if (Call && !Graph.facts(P.Node).Sites.declared() && elementArgument(Call, E, P))
    return;
  if (copies(E, S))
    return addAccess(Access::Load, E, P, {});
  if (const CXXOperatorCallExpr *O = dyn_cast<CXXOperatorCallExpr>(S)) {
    const FunctionDecl *F = O->getDirectCallee();
    if (F && O->getArg(0) == E)
      return inPlace(O, F, E, P, {});
    return Unknown("an operator may change this element, or read it after changing another; give it a copy");
  }
  if (Call) {
    if (!elementArgument(Call, E, P))
      Unknown("an element is passed by reference" + (Call->getDirectCallee() ? " to '" + Call->getDirectCallee()->getNameAsString() + "'" : ""));
    return;
  }
  if (isa<ConditionalOperator>(S))
    return choiceIsCopied(cast<Expr>(S)) ? addAccess(Access::Load, E, P, {}) : Unknown("an element is chosen by a condition");
  if (resultIsUnused(E))
    return Unknown("an element is named and not used");
  Unknown("this use of an element is not understood");
}

/// A number x[i], which \p S uses: it can lie anywhere as long as nobody steps
/// from its address to its neighbours.
void UseClassifier::number(const Expr *E, const Stmt *S, const Pointer &P) {
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(S); U && U->getOpcode() == UO_AddrOf) {
    if (!reachesOneObject(U))
      return pointer(U, P);
  } else if (const UnaryExprOrTypeTraitExpr *T = dyn_cast<UnaryExprOrTypeTraitExpr>(S)) {
    std::optional<Range> R = View.range(T->getArgumentExpr()->getSourceRange());
    if (T->getKind() != UETT_SizeOf || !R)
      return refuse(P, E->getExprLoc(), "a property of an element's type is asked for");
    Graph.facts(P.Node).Sites.Sizes.push_back({*R});
    return;
  } else if (!staysInside(E, Context)) {
    return refuse(P, E->getExprLoc(), "an element is kept or passed by reference, and its address may be used to reach its neighbours");
  }
  addAccess(Access::Leaf, E, P, {});
  const ImplicitCastExpr *Cast = dyn_cast<ImplicitCastExpr>(S);
  if (std::vector<Access> &All = Graph.facts(P.Node).Sites.Accesses; !All.empty())
    All.back().Written = !Cast || Cast->getCastKind() != CK_LValueToRValue;
}

bool toBase(const CastExpr *E) {
  return isa<ImplicitCastExpr>(E) && (E->getCastKind() == CK_DerivedToBase || E->getCastKind() == CK_UncheckedDerivedToBase);
}

/// \p Base is an element, or a pointer to one, as an object of a base class.
void UseClassifier::baseMember(const CastExpr *Base, const Pointer &P) {
  const Expr *E = Base;
  const Stmt *S = parent(E);
  for (; S && isa<ParenExpr>(S); S = parent(E))
    E = cast<Expr>(S);
  const MemberExpr *M = dyn_cast_or_null<MemberExpr>(S);
  if (!M || !isa<FieldDecl>(M->getMemberDecl()))
    return refuse(P, Base->getExprLoc(), "an element is used as an object of its base class");
  member(M, P, {M});
}

/// `c ? p[i] : p[j]` is only read: \p Choice may be a choice between copies.
bool UseClassifier::choiceIsCopied(const Expr *Choice) const {
  for (const Stmt *S = parent(Choice); S; Choice = cast<Expr>(S), S = parent(Choice)) {
    const CastExpr *Cast = dyn_cast<CastExpr>(S);
    if (Cast && Cast->getCastKind() == CK_LValueToRValue)
      return true;
    const MemberExpr *M = dyn_cast<MemberExpr>(S);
    bool Through = isa<ParenExpr, ConditionalOperator>(S) || (Cast && Cast->getCastKind() == CK_NoOp) || (M && isa<FieldDecl>(M->getMemberDecl()));
    if (!Through)
      return copies(Choice, S);
  }
  return false;
}

/// f(p[i]) with a parameter `T &`.
bool UseClassifier::elementArgument(const CallExpr *Call, const Expr *E, const Pointer &P) {
  const FunctionDecl *Callee = Call->getDirectCallee();
  unsigned I = std::find(Call->arg_begin(), Call->arg_end(), E) - Call->arg_begin();
  std::optional<NodeId> Parameter = Callee && I < Callee->getNumParams() ? Graph.node(Callee->getParamDecl(I)) : std::nullopt;
  if (!Parameter || !Graph.facts(*Parameter).ToElement)
    return false;
  asArgument(Call, E, P, *Parameter);
  return true;
}

static std::vector<std::string> names(llvm::ArrayRef<const Expr *> Path) {
  std::vector<std::string> Out;
  for (const Expr *S : Path)
    if (const MemberExpr *M = dyn_cast<MemberExpr>(S); M && !M->getMemberDecl()->getName().empty())
      Out.push_back(M->getMemberDecl()->getName().str());
  return Out;
}

/// A record in a member array that is copied as a whole stays in one piece if its
/// index is not known: all others would have to be loaded beside it.
void UseClassifier::keepsTogether(const Pointer &P, llvm::ArrayRef<const Expr *> Path, bool Stored) {
  if (llvm::any_of(Path, [&](const Expr *S) {
        const ArraySubscriptExpr *A = dyn_cast<ArraySubscriptExpr>(S);
        return A && (Stored || !A->getIdx()->isIntegerConstantExpr(Context));
      }))
    Graph.facts(P.Node).WholeRecords.push_back(names(Path));
}

/// \p E is the last expression of \p Path: a member of an element, or an
/// element of a member array.
void UseClassifier::member(const Expr *E, const Pointer &P, std::vector<const Expr *> Path) {
  auto Unknown = [&](std::string What) { refuse(P, E->getExprLoc(), std::move(What)); };
  const MemberExpr *M = dyn_cast<MemberExpr>(E);
  if (M && isa<CXXMethodDecl>(M->getMemberDecl()))
    return memberFunction(M, P, Path);
  if (M && !isa<FieldDecl>(M->getMemberDecl()))
    return Unknown("a static member is reached through an element");
  const VarDecl *Variable = nullptr;
  const Expr *Outer = E;
  const Stmt *S = parent(Outer, &Variable);
  while (S && isa<ParenExpr>(S)) {
    Outer = cast<Expr>(S);
    S = parent(Outer, &Variable);
  }
  if (!S && !Variable)
    return Unknown("the type of a field is asked for");
  QualType T = E->getType();
  if (T->isArrayType()) {
    const ImplicitCastExpr *Decay = dyn_cast_or_null<ImplicitCastExpr>(S);
    const ArraySubscriptExpr *Subscript =
        Decay && Decay->getCastKind() == CK_ArrayToPointerDecay ? dyn_cast_or_null<ArraySubscriptExpr>(parent(Decay)) : nullptr;
    if (Subscript && Subscript->getBase() == Decay) {
      Path.push_back(Subscript);
      return member(Subscript, P, std::move(Path));
    }
    Graph.facts(P.Node).WholeArrays.push_back(names(Path));
    return addAccess(Access::Leaf, E, P, Path);
  }
  if (T->isRecordType()) {
    if (const ImplicitCastExpr *Const = dyn_cast_or_null<ImplicitCastExpr>(S); Const && Const->getCastKind() == CK_NoOp) {
      Outer = Const;
      S = parent(Outer, &Variable);
    }
    if (const MemberExpr *Inner = dyn_cast_or_null<MemberExpr>(S)) {
      if (!View.range(Inner->getSourceRange()) && View.range(E->getSourceRange())) {
        // The macro that E is an argument of names the member.
        Graph.facts(P.Node).WholeRecords.push_back(names(Path));
        return addAccess(Access::Leaf, E, P, Path);
      }
      Path.push_back(Inner);
      return member(Inner, P, std::move(Path));
    }
    if (const CXXOperatorCallExpr *O = dyn_cast_or_null<CXXOperatorCallExpr>(S); O && isPlainAssignment(O) && O->getArg(0) == Outer) {
      if (!resultIsUnused(O))
        return Unknown("the value of an assignment to a nested record is used");
      keepsTogether(P, Path, true);
      return addAccess(Access::PartStore, O, P, Path, O->getArg(1));
    }
    if (copies(Outer, S)) {
      keepsTogether(P, Path, false);
      return addAccess(Access::PartLoad, E, P, Path);
    }
    if (const CXXOperatorCallExpr *O = dyn_cast_or_null<CXXOperatorCallExpr>(S); O && O->getArg(0) == Outer)
      if (const FunctionDecl *F = O->getDirectCallee())
        return inPlace(O, F, Outer, P, Path);
    // As one piece it can be used like any field.
    Graph.facts(P.Node).WholeArrays.push_back(names(Path));
  }
  std::vector<std::string> ArrayPath;
  for (size_t I = Path.size(); I-- > 0;)
    if (isa<ArraySubscriptExpr>(Path[I])) {
      ArrayPath = names(llvm::ArrayRef(Path).take_front(I));
      break;
    }
  if (const UnaryOperator *U = dyn_cast_or_null<UnaryOperator>(S); U && U->getOpcode() == UO_AddrOf)
    leafAddress(U, P, ArrayPath);
  addAccess(Access::Leaf, E, P, Path);
}

/// Nobody steps from the address \p E of an object to its neighbours.
bool UseClassifier::reachesOneObject(const Expr *E) const {
  const VarDecl *Variable = nullptr;
  const Expr *Outer = E;
  const Stmt *S = parent(Outer, &Variable);
  auto passesOn = [&](const Stmt *S) { // the arms of a condition are looked at one by one
    const ConditionalOperator *Choice = dyn_cast<ConditionalOperator>(S);
    return isa<ParenExpr, ImplicitCastExpr>(S) || (isa<CastExpr>(S) && keepsSize(cast<CastExpr>(S), Context)) || (Choice && Choice->getCond() != Outer);
  };
  while (S && passesOn(S)) {
    Outer = cast<Expr>(S);
    S = parent(Outer, &Variable);
  }
  if (Variable)
    return !isModified(Facts, Variable) && onlyDereferenced(Variable, Context);
  if (const UnaryOperator *U = dyn_cast_or_null<UnaryOperator>(S))
    return U->getOpcode() == UO_Deref;
  const CallExpr *Call = dyn_cast_or_null<CallExpr>(S);
  const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
  if (!Callee)
    return false;
  unsigned Argument = std::find(Call->arg_begin(), Call->arg_end(), Outer) - Call->arg_begin();
  return touchesOneObject(Callee) || (Argument < Callee->getNumParams() && onlyDereferenced(Callee->getParamDecl(Argument), Context));
}

/// &p[i].f stays what it is in every layout as long as nobody steps from it to
/// the neighbours.
void UseClassifier::leafAddress(const Expr *E, const Pointer &P, const std::vector<std::string> &ArrayPath) {
  if (reachesOneObject(E))
    return;
  if (!ArrayPath.empty()) // it may walk over the member array, no further
    Graph.facts(P.Node).WholeArrays.push_back(ArrayPath);
  else
    refuse(P, E->getExprLoc(), "the address of a field is kept or passed on, and may be used to reach its neighbours");
}

} // namespace restride
