// `T &r = p[i]` and `T *q = p + i` that never change become an index. That is so
// only while the pointer they stand on keeps its value and its name.

#include "analysis/program/Uses.h"

#include "clang/AST/ParentMapContext.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
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
  struct Search : DynamicRecursiveASTVisitor {
    bool VisitVarDecl(VarDecl *Other) override { return Other == V || Other->getDeclName() != V->getDeclName(); }
    const VarDecl *V = nullptr;
  } Find;
  Find.V = V;
  const FunctionDecl *F = dyn_cast<FunctionDecl>((V->hasLocalStorage() ? V : Alias)->getDeclContext());
  return !F || !Find.TraverseStmt(F->getBody());
}

/// The statement with its line, if it has one to itself, and with the blank line
/// after it at the beginning of a block.
static Range withLine(Range Statement, llvm::StringRef Text) {
  llvm::StringRef Before = Text.take_front(Statement.Begin), After = Text.substr(Statement.End);
  llvm::StringRef Indent = Before.take_back(Before.size() - Before.find_last_not_of(" \t") - 1);
  llvm::StringRef Rest = After.ltrim(" \t");
  auto EndsLine = [](llvm::StringRef S) { return S.starts_with("\n") || S.starts_with("\r\n"); };
  if (!Before.drop_back(Indent.size()).ends_with("\n") || !EndsLine(Rest))
    return {Statement.Begin, unsigned(Text.size() - Rest.size())};
  auto NextLine = [](llvm::StringRef S) { return S.substr(S.find('\n') + 1); };
  Rest = NextLine(Rest);
  if (Before.rtrim().ends_with("{") && EndsLine(Rest.ltrim(" \t")))
    Rest = NextLine(Rest);
  return {unsigned(Before.size() - Indent.size()), unsigned(Text.size() - Rest.size())};
}

/// The variables of an index that reads well wherever the alias is used: `i`, `i + 1`.
static bool shortIndex(const Expr *E, std::vector<const VarDecl *> &Variables) {
  E = E->IgnoreParenImpCasts();
  const BinaryOperator *B = dyn_cast<BinaryOperator>(E);
  if (B && B->isAdditiveOp() && !isa<BinaryOperator>(B->getLHS()->IgnoreParenImpCasts()) && !isa<BinaryOperator>(B->getRHS()->IgnoreParenImpCasts()))
    return shortIndex(B->getLHS(), Variables) && shortIndex(B->getRHS(), Variables);
  if (isa<IntegerLiteral>(E))
    return true;
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E);
  const VarDecl *V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
  if (!V || !V->hasLocalStorage() || V->getType().isVolatileQualified() || !V->getType()->isIntegerType())
    return false;
  Variables.push_back(V);
  return true;
}

/// The declaration of \p V, which becomes an index, where every use of \p V can name \p P
/// itself: its index is short and keeps its value and its name up to the end of the block.
std::optional<Range> UseClassifier::needless(const VarDecl *V, const DeclStmt *Statement, const Pointer &P) const {
  std::vector<const VarDecl *> Index;
  auto Parents = Context.getParents(*Statement);
  const CompoundStmt *Block = Parents.empty() ? nullptr : Parents[0].get<CompoundStmt>();
  if (Graph.scalars() || !Block || !P.Base || P.Terms.size() != 1 || P.Terms[0].Negative || !P.Terms[0].E || !shortIndex(P.Terms[0].E, Index))
    return std::nullopt;
  const SourceManager &Manager = View.sourceManager();
  for (const VarDecl *I : Index) {
    auto Changes = Facts.Modified.find(I->getLocation().getRawEncoding());
    for (const DeclRefExpr *R : Changes == Facts.Modified.end() ? std::vector<const DeclRefExpr *>() : Changes->second) {
      const Stmt *Change = parent(R);
      const BinaryOperator *Assignment = dyn_cast_or_null<BinaryOperator>(Change);
      const UnaryOperator *Step = dyn_cast_or_null<UnaryOperator>(Change);
      bool Plain = (Assignment && Assignment->isAssignmentOp() && Assignment->getLHS() == R) || (Step && Step->isIncrementDecrementOp());
      bool Before = Manager.isBeforeInTranslationUnit(R->getLocation(), V->getBeginLoc());
      if (!Plain || (!Before && !Manager.isBeforeInTranslationUnit(Block->getEndLoc(), R->getLocation())))
        return std::nullopt;
    }
    // A lambda's own code is not all that changes what it captures.
    if (I->getDeclContext() != V->getDeclContext() || isHidden(I, V))
      return std::nullopt;
  }
  struct Search : DynamicRecursiveASTVisitor {
    bool VisitLambdaExpr(LambdaExpr *) override { return false; } // may capture it by its name
    bool VisitDeclRefExpr(DeclRefExpr *R) override {
      const Stmt *S = R->getDecl() == V ? Classifier->parent(R) : nullptr;
      const CastExpr *Cast = dyn_cast_or_null<CastExpr>(S);
      return !(Cast && Cast->getType()->isVoidType()) && !(S && Classifier->resultIsUnused(R));
    }
    const UseClassifier *Classifier = nullptr;
    const VarDecl *V = nullptr;
  } Find;
  Find.Classifier = this;
  Find.V = V;
  if (const FunctionDecl *F = dyn_cast<FunctionDecl>(V->getDeclContext()); !F || !Find.TraverseStmt(F->getBody()))
    return std::nullopt;
  std::optional<Range> Out = View.range(Statement->getSourceRange());
  return Out ? std::optional(withLine(*Out, View.buffer())) : std::nullopt;
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
  std::optional<Range> Needless = Statement ? needless(V, Statement, P) : std::nullopt;
  if (!Statement || (!Statement->isSingleDecl() && !Needless))
    return Unknown("is an element's other name, and is declared together with others");
  std::optional<Element> What = elementOf(P, V->getLocation());
  if (!What)
    return;
  std::optional<Range> Whole = View.range({V->getBeginLoc(), V->getEndLoc()});
  if (!Whole)
    return Unknown("is declared by a macro");
  if (isHidden(BaseVariable, V))
    return Unknown("stands on '" + BaseVariable->getName().str() + "', a name that is declared twice here");
  Facts.Aliases[V] = {P.Node, BaseVariable, Base, Name, Needless ? std::optional(P) : std::nullopt};
  Graph.facts(P.Node).Sites.Aliases.push_back({*Whole, Name, *What, Needless, unsigned(std::distance(Statement->decl_begin(), Statement->decl_end())), View.where(V->getLocation())});
}

} // namespace restride
