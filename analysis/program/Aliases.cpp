// `T &r = p[i]` and `T *q = p + i` that never change become an index. That is so
// only while the pointer they stand on keeps its value and its name.

#include "analysis/program/Uses.h"

#include "clang/AST/ParentMapContext.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace restride {

/// The only change of \p Base is a `cudaMalloc(&Base, ...)` that stands before \p V
/// in the same function: while V lives, Base does not change.
bool UseClassifier::allocatedOnceBefore(const VarDecl *Base, const VarDecl *V) {
  auto Changes = Facts.Modified.find(Base->getLocation().getRawEncoding());
  if (Changes == Facts.Modified.end() || Changes->second.size() != 1)
    return false;
  const Expr *Change = Changes->second.front();
  if (!View.sourceManager().isBeforeInTranslationUnit(Change->getExprLoc(), V->getLocation()))
    return false;
  const Stmt *S = parent(Change);
  const UnaryOperator *U = dyn_cast_or_null<UnaryOperator>(S);
  if (!U || U->getOpcode() != UO_AddrOf)
    return false;
  while (S && isa<UnaryOperator, CastExpr, ParenExpr>(S))
    S = parent(cast<Expr>(S));
  const CallExpr *Call = dyn_cast_or_null<CallExpr>(S);
  const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
  if (!isRuntimeFunction(Callee) || !Callee->getName().starts_with("cudaMalloc"))
    return false;
  for (auto Up = Context.getParents(*Call); !Up.empty(); Up = Context.getParents(Up[0])) {
    if (Up[0].get<LambdaExpr>())
      return false;
    if (const FunctionDecl *F = Up[0].get<FunctionDecl>())
      return F == Base->getDeclContext();
  }
  return false;
}

bool UseClassifier::aliasBase(const Pointer &P, const VarDecl *V) {
  const Expr *Base = P.Base ? P.Base->IgnoreParenImpCasts() : nullptr;
  const DeclRefExpr *R = dyn_cast_or_null<DeclRefExpr>(Base);
  const VarDecl *Variable = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
  if (!Variable || !V->hasLocalStorage())
    return false;
  if (Graph.facts(P.Node).Sites.declared())
    return true;
  return Variable->hasLocalStorage() && (!isModified(Facts, Variable) || allocatedOnceBefore(Variable, V)) &&
         !Variable->getType()->isReferenceType();
}

/// A second variable of that name in the function of \p Alias, or in a lambda in it.
static bool isHidden(const VarDecl *V, const VarDecl *Alias) {
  struct Search : RecursiveASTVisitor<Search> {
    bool VisitVarDecl(VarDecl *Other) { return Other == V || Other->getDeclName() != V->getDeclName(); }
    const VarDecl *V = nullptr;
  } Find;
  Find.V = V;
  const FunctionDecl *F = dyn_cast<FunctionDecl>((V->hasLocalStorage() ? V : Alias)->getDeclContext());
  return !F || !Find.TraverseStmt(F->getBody());
}

void UseClassifier::makeAlias(const VarDecl *V, const Pointer &P) {
  std::string Name = V->getName().str();
  auto Unknown = [&](std::string Why) { refuse(P, V->getLocation(), "'" + Name + "' " + std::move(Why)); };
  // An alias of an alias stands on the same pointer.
  const VarDecl *BaseVariable = nullptr;
  std::string Base = P.BaseName;
  if (!P.Base) {
    for (const auto &[Key, Alias] : Facts.Aliases)
      if (!P.Terms.empty() && Alias.Name == P.Terms[0].Name && Alias.Base == P.BaseName &&
          (Alias.BaseVariable->hasGlobalStorage() || Alias.BaseVariable->getDeclContext() == V->getDeclContext()))
        BaseVariable = Alias.BaseVariable;
  } else if (aliasBase(P, V)) {
    const DeclRefExpr *Written = cast<DeclRefExpr>(P.Base->IgnoreParenImpCasts());
    std::optional<Range> Name = View.range(Written->getSourceRange());
    BaseVariable = cast<VarDecl>(Written->getDecl());
    Base = Name ? View.text(*Name).str() : BaseVariable->getName().str();
  }
  if (!BaseVariable)
    return Unknown("points into an array whose pointer changes, so an index cannot take its place");
  if (!V->getType()->isReferenceType() && isModified(Facts, V))
    return Unknown("is a pointer into the array that changes");
  auto Parents = Context.getParents(*V);
  const DeclStmt *Statement = Parents.empty() ? nullptr : Parents[0].get<DeclStmt>();
  if (!Statement || !Statement->isSingleDecl())
    return Unknown("is an element's other name, and is declared together with others");
  std::optional<Element> What = elementOf(P, V->getLocation());
  if (!What)
    return;
  std::optional<Range> Whole = View.range({V->getBeginLoc(), V->getEndLoc()});
  if (!Whole)
    return Unknown("is declared by a macro");
  if (isHidden(BaseVariable, V))
    return Unknown("stands on '" + BaseVariable->getName().str() + "', a name that is declared twice here");
  Facts.Aliases[V->getLocation().getRawEncoding()] = {P.Node, BaseVariable, Base, Name};
  Graph.facts(P.Node).Sites.Aliases.push_back({*Whole, Name, *What});
}

} // namespace restride
