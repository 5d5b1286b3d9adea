#include "analysis/program/RecordTemplates.h"
#include "analysis/program/Flow.h"
#include "analysis/program/RecordType.h"
#include "analysis/program/Tokens.h"

#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/Basic/SourceManager.h"

#include <set>

using namespace clang;

namespace restride {

static const TemplateParameterList *parametersOf(const FunctionDecl *Pattern) {
  const FunctionTemplateDecl *Template = Pattern->getDescribedFunctionTemplate();
  return Template ? Template->getTemplateParameters() : nullptr;
}

namespace {

/// Where a template's text names its type parameters.
class ParameterNames : public DynamicRecursiveASTVisitor {
public:
  explicit ParameterNames(unsigned Depth) : Depth(Depth) {}
  bool VisitTemplateTypeParmTypeLoc(TemplateTypeParmTypeLoc L) override {
    if (L.getTypePtr()->getDepth() == Depth)
      Found.push_back({L.getTypePtr()->getIndex(), L.getNameLoc()});
    return true;
  }
  bool VisitTypeLoc(TypeLoc T) override {
    TypeLoc Of;
    if (PointerTypeLoc P = T.getAs<PointerTypeLoc>())
      Of = P.getPointeeLoc();
    else if (ArrayTypeLoc A = T.getAs<ArrayTypeLoc>())
      Of = A.getElementLoc();
    if (TemplateTypeParmTypeLoc L = Of ? Of.getUnqualifiedLoc().getAs<TemplateTypeParmTypeLoc>() : TemplateTypeParmTypeLoc())
      if (L.getTypePtr()->getDepth() == Depth)
        PointedTo.insert(L.getTypePtr()->getIndex());
    return true;
  }
  bool VisitIfStmt(IfStmt *S) override {
    Constexpr |= S->isConstexpr();
    return true;
  }

  std::vector<std::pair<unsigned, SourceLocation>> Found;
  std::set<unsigned> PointedTo;
  bool Constexpr = false;

private:
  unsigned Depth;
};

} // namespace

std::vector<RecordArgument> recordArguments(const FunctionDecl *F, const SourceView &View) {
  const FunctionDecl *Pattern = F->getPrimaryTemplate() ? F->getTemplateInstantiationPattern() : nullptr;
  const TemplateArgumentList *Given = F->getTemplateSpecializationArgs();
  const TemplateParameterList *Parameters = Pattern ? parametersOf(Pattern) : nullptr;
  if (!Parameters || !Given)
    return {};
  std::vector<RecordArgument> Out;
  for (unsigned I = 0; I < std::min<unsigned>(Given->size(), Parameters->size()); ++I)
    if (const TemplateArgument &A = Given->get(I); A.getKind() == TemplateArgument::Type && !A.getAsType().hasQualifiers())
      if (const CXXRecordDecl *Record = userRecord(A.getAsType(), View))
        Out.push_back({I, Record});
  if (Out.empty())
    return Out;
  ParameterNames Names(Parameters->getDepth());
  Names.TraverseDecl(Pattern->getDescribedFunctionTemplate());
  std::erase_if(Out, [&](const RecordArgument &A) { return !Names.PointedTo.count(A.Position); });
  return Out;
}

/// What goes from a list, with a comma each, where those at \p Gone go; all of \p Whole where none is left.
static std::vector<Range> without(llvm::ArrayRef<Range> List, llvm::ArrayRef<RecordArgument> Gone, Range Whole) {
  std::set<unsigned> Positions;
  for (const RecordArgument &A : Gone)
    if (A.Position < List.size())
      Positions.insert(A.Position);
  if (Positions.size() == List.size())
    return {Whole};
  std::vector<Range> Out;
  bool Kept = false;
  for (unsigned I = 0; I < List.size(); ++I)
    if (!Positions.count(I))
      Kept = true;
    else
      Out.push_back(Kept ? Range{List[I - 1].End, List[I].End} : Range{List[I].Begin, List[I + 1].Begin});
  return Out;
}

/// Adds what one declaration of the template needs; what is wrong with it, if something is.
static std::string respell(const FunctionDecl *Pattern, llvm::ArrayRef<RecordArgument> Records, const SourceView &View, RecordFunction &Out) {
  constexpr const char *ByMacro = "is written by a macro in part";
  const TemplateParameterList *Parameters = parametersOf(Pattern);
  std::optional<Range> Head = Parameters ? View.range({Parameters->getTemplateLoc(), Parameters->getRAngleLoc()}) : std::nullopt;
  std::optional<Range> Name = View.range(Pattern->getLocation()), Text = View.range({Parameters ? Parameters->getTemplateLoc() : Pattern->getBeginLoc(), Pattern->getEndLoc()});
  if (!Head || !Name || !Text)
    return ByMacro;
  if (Parameters->hasAssociatedConstraints() || Pattern->getTrailingRequiresClause())
    return "has constraints";
  Out.Names.push_back(*Name);
  while (Head->End < Text->End && llvm::isSpace(View.buffer()[Head->End]))
    ++Head->End;
  std::vector<Range> List;
  for (const NamedDecl *P : *Parameters) {
    std::optional<Range> R = View.range(P->getSourceRange());
    if (!R)
      return ByMacro;
    List.push_back(*R);
  }
  std::vector<Range> Gone = without(List, Records, *Head);
  // A template may be defined in every unit, a function only so.
  bool Once = Gone.front() == *Head && Pattern->getStorageClass() == SC_None && !Pattern->isInlineSpecified() && !Pattern->isConstexprSpecified();
  for (const Range &R : Gone)
    Out.Edits.push_back({R, !Once ? "" : Pattern->hasAttr<CUDAGlobalAttr>() ? "static " : "inline "});
  ParameterNames Names(Parameters->getDepth());
  Names.TraverseDecl(Pattern->getDescribedFunctionTemplate());
  if (Names.Constexpr)
    return "has parts that are there for some types only (if constexpr)";
  std::set<unsigned> Seen;
  for (auto [Index, At] : Names.Found)
    for (const RecordArgument &A : Records)
      if (A.Position == Index) {
        std::optional<Range> R = View.range(At);
        if (!R)
          return ByMacro;
        if (Seen.insert(R->Begin).second)
          Out.Edits.push_back({*R, qualifiedName(A.Record)});
      }
  for (const TextToken &T : tokensOf(View.text(*Text)))
    for (const RecordArgument &A : Records) {
      unsigned At = Text->Begin + T.Where.Begin;
      if (T == Parameters->getParam(A.Position)->getName() && !Seen.count(At) && !List[A.Position].contains({At, At + 1}))
        return "uses the name of its template parameter in a way that is not understood";
    }
  return "";
}

RecordFunction recordFunction(const FunctionDecl *F, llvm::ArrayRef<RecordArgument> Records, const SourceView &View) {
  RecordFunction Out;
  const FunctionDecl *Pattern = F->getTemplateInstantiationPattern();
  for (const FunctionDecl *D : Pattern->redecls())
    if (Out.Objection.empty())
      Out.Objection = respell(D, Records, View, Out);
  for (const RecordArgument &A : Records) {
    Out.How.NewName += A.Record->getName().str() + "_";
    Out.How.Positions.push_back(A.Position);
    Out.How.Behind |= View.sourceManager().isBeforeInTranslationUnit(Pattern->getFirstDecl()->getLocation(), A.Record->getLocation());
  }
  Out.How.NewName += F->getNameAsString();
  bool Global = llvm::all_of(Records, [](const RecordArgument &A) { return A.Record->getDeclContext()->isTranslationUnit(); });
  for (const DeclContext *C = Pattern->getDeclContext(); Global && C; C = C->getParent())
    if (const NamespaceDecl *N = dyn_cast<NamespaceDecl>(C); N && !N->isAnonymousNamespace())
      Out.How.Namespace = N->getName().str() + (Out.How.Namespace.empty() ? "" : "::") + Out.How.Namespace;
  return Out;
}

RecordCall recordCall(const CallExpr *Call, llvm::ArrayRef<RecordArgument> Records, const SourceView &View) {
  RecordCall Out;
  const DeclRefExpr *Name = dyn_cast<DeclRefExpr>(Call->getCallee()->IgnoreParenImpCasts());
  if (!Name)
    return Out;
  Out.Name = View.range(Name->getLocation());
  if (!Name->hasExplicitTemplateArgs())
    return Out;
  std::optional<Range> Whole = View.range({Name->getLAngleLoc(), Name->getRAngleLoc()});
  std::vector<Range> List;
  for (const TemplateArgumentLoc &A : Name->template_arguments())
    if (std::optional<Range> R = View.range(A.getSourceRange()))
      List.push_back(*R);
  bool Says = llvm::any_of(Records, [&](const RecordArgument &A) { return A.Position < Name->getNumTemplateArgs(); });
  Out.Unclear = Says && (!Whole || List.size() != Name->getNumTemplateArgs());
  if (Says && !Out.Unclear)
    Out.Records = without(List, Records, *Whole);
  return Out;
}

} // namespace restride
