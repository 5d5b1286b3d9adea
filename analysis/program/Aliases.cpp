// `T &r = p[i]` and `T *q = p + i` that never change, or that walk, become an index. That is so
// only while the pointer they stand on keeps its value and its name.

#include "analysis/program/Around.h"
#include "analysis/program/StableBase.h"
#include "analysis/program/Uses.h"

#include "clang/AST/ParentMapContext.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace restride {

/// The array's pointer stays what it is while \p V can be used.
bool UseClassifier::aliasBase(const Pointer &P, const VarDecl *V) {
  if (!P.Base || !V->hasLocalStorage())
    return false;
  const DeclRefExpr *R = dyn_cast<DeclRefExpr>(P.Base->IgnoreParenImpCasts());
  const VarDecl *Variable = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
  if (Variable && (Graph.facts(P.Node).Sites.declared() || (Variable->hasLocalStorage() && !isModified(Facts, Variable) && !Variable->getType()->isReferenceType())))
    return true;
  return staysWhile(P.Base, V, Context);
}

/// A second variable of that name in the function of \p Alias, or in a lambda in it.
static bool isHidden(const ValueDecl *D, const VarDecl *Alias) {
  struct Search : DynamicRecursiveASTVisitor {
    bool VisitVarDecl(VarDecl *Other) override { return Other == D || Other->getDeclName() != D->getDeclName(); }
    const ValueDecl *D = nullptr;
  } Find;
  Find.D = D;
  const VarDecl *V = dyn_cast<VarDecl>(D);
  const FunctionDecl *F = dyn_cast<FunctionDecl>((V && V->hasLocalStorage() ? V : Alias)->getDeclContext());
  return !F || !Find.TraverseStmt(F->getBody()) || llvm::any_of(F->parameters(), [&](const ParmVarDecl *P) { return P != D && P->getDeclName() == D->getDeclName(); });
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

/// Names that are declared together go together.
static bool allShort(const DeclStmt *Statement) {
  return llvm::all_of(Statement->decls(), [](const Decl *D) {
    const VarDecl *V = dyn_cast<VarDecl>(D);
    const Expr *Init = V && V->getInit() ? V->getInit()->IgnoreParenImpCasts() : nullptr;
    if (const UnaryOperator *U = dyn_cast_or_null<UnaryOperator>(Init); U && U->getOpcode() == UO_AddrOf)
      Init = U->getSubExpr()->IgnoreParenImpCasts();
    std::vector<const VarDecl *> Index;
    if (const ArraySubscriptExpr *A = dyn_cast_or_null<ArraySubscriptExpr>(Init))
      return shortIndex(A->getIdx(), Index);
    const BinaryOperator *Sum = dyn_cast_or_null<BinaryOperator>(Init);
    return Sum && Sum->isAdditiveOp() && shortIndex(Sum->getLHS()->getType()->isPointerType() ? Sum->getRHS() : Sum->getLHS(), Index);
  });
}

bool UseClassifier::anyWalks(const DeclStmt *Statement) const {
  return llvm::any_of(Statement->decls(), [&](const Decl *D) { return isa<VarDecl>(D) && walks(cast<VarDecl>(D)); });
}

/// The declaration of \p V, which becomes an index, where every use of \p V can name \p P
/// itself: its index is short and keeps its value and its name up to the end of the block.
std::optional<Range> UseClassifier::needless(const VarDecl *V, const DeclStmt *Statement, const Pointer &P) const {
  std::vector<const VarDecl *> Index;
  const CompoundStmt *Block = dyn_cast_or_null<CompoundStmt>(parentOf(Statement, Context));
  if (anyWalks(Statement))
    return std::nullopt;
  if (Graph.scalars() || !Block || !P.Base || P.Terms.size() != 1 || P.Terms[0].Negative || !P.Terms[0].E || !shortIndex(P.Terms[0].E, Index) ||
      (!Statement->isSingleDecl() && !allShort(Statement)))
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

/// The text of one name's declaration: of the first with the type, of another behind the comma.
static std::optional<Range> declarator(const VarDecl *V, const DeclStmt *Statement, const SourceView &View) {
  std::optional<Range> Out = View.range({V->getBeginLoc(), V->getEndLoc()});
  auto At = llvm::find(Statement->decls(), V);
  if (!Out || At == Statement->decl_begin())
    return Out;
  std::optional<Range> Before = View.range((*std::prev(At))->getSourceRange());
  if (!Before)
    return std::nullopt;
  llvm::StringRef Between = View.buffer().slice(Before->End, Out->End).ltrim();
  if (!Between.consume_front(","))
    return std::nullopt;
  return Range{Out->End - unsigned(Between.ltrim().size()), Out->End};
}

void UseClassifier::makeAlias(const VarDecl *V, const Pointer &P) {
  std::string Name = V->getName().str();
  auto Unknown = [&](std::string Why) { refuse(P, V->getLocation(), "'" + Name + "' " + std::move(Why)); };
  // An alias of an alias stands on the same pointer.
  const ValueDecl *Root = nullptr;
  AliasFacts Alias{P.Node, nullptr, P.BaseName, Name, std::nullopt};
  if (!P.Base) {
    for (const auto &[Key, Other] : Facts.Aliases)
      if (!P.Terms.empty() && Other.BaseVariable && Other.Name == P.Terms[0].Name && Other.Base == P.BaseName &&
          (Other.BaseVariable->hasGlobalStorage() || Other.BaseVariable->getDeclContext() == V->getDeclContext()))
        Root = Alias.BaseVariable = Other.BaseVariable;
  } else if (aliasBase(P, V)) {
    Root = rootOf(P.Base);
    if (const DeclRefExpr *Written = dyn_cast<DeclRefExpr>(P.Base->IgnoreParenImpCasts())) {
      std::optional<Range> Name = View.range(Written->getSourceRange());
      Alias.BaseVariable = cast<VarDecl>(Written->getDecl());
      Alias.Base = (Name ? View.text(*Name).str() : Alias.BaseVariable->getName().str()) + (P.Owned ? ".get()" : "");
    } else {
      Alias.Instead = Pointer{P.Node, P.Base, "", {{nullptr, Name}}, P.Owned, true};
    }
  }
  if (!Root)
    return Unknown("points into an array whose pointer changes, so an index cannot take its place");
  if (!V->getType()->isReferenceType() && isModified(Facts, V) && !walks(V))
    return Unknown("is a pointer into the array that changes");
  const DeclStmt *Statement = statementOf(V, Context);
  std::optional<Range> Needless = Statement ? needless(V, Statement, P) : std::nullopt;
  std::optional<Range> Group = Statement ? View.range(Statement->getSourceRange()) : std::nullopt;
  if (!Group)
    return Unknown("is an element's other name, and is declared by a macro or as a condition");
  std::optional<Element> What = elementOf(P, V->getLocation());
  if (!What)
    return;
  std::optional<Range> Whole = declarator(V, Statement, View);
  if (!Whole)
    return Unknown("is declared by a macro");
  if (isHidden(Root, V))
    return Unknown("stands on '" + Root->getName().str() + "', a name that is declared twice here");
  if (Needless)
    Alias.Instead = P;
  Facts.Aliases[V] = std::move(Alias);
  const unsigned Together = std::distance(Statement->decl_begin(), Statement->decl_end());
  Graph.facts(P.Node).Sites.Aliases.push_back({*Whole, Name, *What, Needless, *Group, Together, *Statement->decl_begin() == V, anyWalks(Statement), View.where(V->getLocation())});
}

} // namespace restride
