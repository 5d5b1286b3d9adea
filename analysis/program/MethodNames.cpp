#include "analysis/program/MethodNames.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace restride {

static void addHomes(NodeId Object, llvm::ArrayRef<InPlaceCall> Calls, const Flow &Graph, std::set<NodeId> &Seen, std::set<const CXXRecordDecl *> &Out) {
  if (!Seen.insert(Object).second)
    return;
  for (const InPlaceCall &C : Calls) {
    if (C.Object != Object)
      continue;
    if (Graph.facts(C.Caller).Body)
      addHomes(C.Caller, Calls, Graph, Seen, Out);
    else
      Out.insert(Graph.decl(Graph.facts(C.Caller).Record));
  }
}

std::set<const CXXRecordDecl *> homesOf(NodeId Object, llvm::ArrayRef<InPlaceCall> Calls, const Flow &Graph) {
  std::set<NodeId> Seen;
  std::set<const CXXRecordDecl *> Out;
  addHomes(Object, Calls, Graph, Seen, Out);
  return Out;
}

static const DeclContext *namespaceOf(const Decl *D) { return D->getDeclContext()->getEnclosingNamespaceContext(); }

NameUse nameUse(const DeclRefExpr *E, ASTContext &Context) {
  NameUse Out{E->getDecl(), E->getLocation()};
  const Expr *Callee = E;
  const CallExpr *Call = nullptr;
  for (auto Parents = Context.getParents(*Callee); !Call && !Parents.empty(); Parents = Context.getParents(*Callee)) {
    Call = Parents[0].get<CallExpr>();
    const ImplicitCastExpr *Cast = Parents[0].get<ImplicitCastExpr>();
    if (!Cast)
      break;
    Callee = Cast;
  }
  if (!Call || Call->getCallee() != Callee)
    return Out;
  Out.Fixed = isa<CXXOperatorCallExpr>(Call);
  Out.ByArguments = llvm::any_of(Call->arguments(), [&](const Expr *A) {
    const TagDecl *T = A->getType()->getAsTagDecl();
    return T && namespaceOf(T) == namespaceOf(Out.D);
  });
  return Out;
}

const NamedDecl *leadingNamespace(NestedNameSpecifierLoc Q) {
  const NamedDecl *Out = nullptr;
  for (NestedNameSpecifier N = Q.getNestedNameSpecifier(); N.getKind() == NestedNameSpecifier::Kind::Namespace;) {
    auto [Namespace, Prefix] = N.getAsNamespaceAndPrefix();
    Out = Prefix ? nullptr : Namespace;
    N = Prefix;
  }
  return Out;
}

/// The innermost namespace around \p C that declares \p Name.
static const DeclContext *declares(const DeclContext *C, DeclarationName Name) {
  for (; C; C = C->getParent()) {
    C = C->getEnclosingNamespaceContext();
    if (!C->lookup(Name).empty())
      return C;
  }
  return nullptr;
}

/// Written in \p To, the name is looked up as in \p From.
static bool meansTheSame(const NameUse &Use, const DeclContext *From, const DeclContext *To) {
  if (From == To)
    return true;
  const DeclContext *Here = declares(From, Use.D->getDeclName()), *There = declares(To, Use.D->getDeclName());
  return There ? There == Here : Use.ByArguments;
}

/// A function of that name that \p F does not see, and its copy behind \p End would.
static const NamedDecl *laterOverload(const NameUse &Use, const FunctionDecl *F, const DeclContext *To, SourceLocation End, const SourceManager &Sources) {
  if (!isa<FunctionDecl>(Use.D))
    return nullptr;
  auto Before = [&](SourceLocation A, SourceLocation B) { return Sources.isBeforeInTranslationUnit(Sources.getExpansionLoc(A), B); };
  for (const DeclContext *C : {namespaceOf(Use.D), declares(To, Use.D->getDeclName())})
    for (const NamedDecl *Other : C ? C->lookup(Use.D->getDeclName()) : DeclContext::lookup_result()) {
      SourceLocation L = Other->getUnderlyingDecl()->getCanonicalDecl()->getLocation();
      if (Before(Sources.getExpansionLoc(F->getEndLoc()), Sources.getExpansionLoc(L)) && (End.isInvalid() || Before(L, End)))
        return Other;
    }
  return nullptr;
}

static std::string prefixOf(const NamedDecl *D) {
  std::string Out;
  for (const DeclContext *C = D->getDeclContext(); C; C = C->getParent())
    if (const NamespaceDecl *N = dyn_cast<NamespaceDecl>(C); N && !N->isAnonymousNamespace() && !N->isInline())
      Out = N->getName().str() + "::" + Out;
  return Out.empty() ? "::" : Out;
}

void checkNames(const FunctionDecl *F, llvm::ArrayRef<NameUse> Names, const CXXRecordDecl *Home, const SourceView &View, Method &Out) {
  const SourceManager &Sources = View.sourceManager();
  const DeclContext *From = F->getEnclosingNamespaceContext(), *To = Home->getEnclosingNamespaceContext();
  // Code for a record in a header may be written in front of its first use.
  bool Elsewhere = !View.inMainFile(Home->getLocation());
  SourceLocation End = Sources.getExpansionLoc(Home->getBraceRange().getEnd());
  for (const NameUse &Use : Names) {
    auto Refuse = [&](std::string Why) {
      Out.Refusals.push_back({"", View.where(Use.Where), "'" + F->getNameAsString() + "' works on an element in place, and uses '" +
                                                             Use.D->getNameAsString() + "', " + std::move(Why) + " '" + Home->getNameAsString() + "'"});
    };
    if (View.isUserCode(Use.D->getLocation()) &&
        !Sources.isBeforeInTranslationUnit(Sources.getExpansionLoc(Use.D->getCanonicalDecl()->getLocation()), End)) {
      Refuse("which is declared behind");
      continue;
    }
    const DeclContext *Global = Home->getASTContext().getTranslationUnitDecl();
    if (laterOverload(Use, F, To, Elsewhere ? SourceLocation() : End, Sources)) {
      Refuse("of which another is declared in front of");
      continue;
    }
    if (meansTheSame(Use, From, To) && (!Elsewhere || meansTheSame(Use, From, Global)))
      continue;
    std::optional<Range> R = Use.Fixed ? std::nullopt : View.range(Use.Where);
    if (!R)
      Refuse("which means something else beside");
    else if (llvm::none_of(Out.Names, [&](const ScopedName &N) { return N.Name.Begin == R->Begin; }))
      Out.Names.push_back({*R, prefixOf(Use.D)});
  }
}

} // namespace restride
