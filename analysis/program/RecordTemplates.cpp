#include "analysis/program/RecordTemplates.h"
#include "analysis/program/Declarations.h"
#include "analysis/program/Flow.h"
#include "analysis/program/ParameterNames.h"
#include "analysis/program/RecordType.h"
#include "analysis/program/Tokens.h"

#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace restride {

static constexpr const char *ByMacro = "is written by a macro in part";

static const TemplateParameterList *parametersOf(const FunctionDecl *Pattern) {
  const FunctionTemplateDecl *Template = Pattern->getDescribedFunctionTemplate();
  return Template ? Template->getTemplateParameters() : nullptr;
}

/// The arguments \p Given that are records of the user's, and that \p Template has pointers to.
static std::vector<RecordArgument> recordsAmong(llvm::ArrayRef<TemplateArgument> Given, const TemplateParameterList &Parameters, TemplateDecl *Template,
                                                const SourceView &View) {
  std::vector<RecordArgument> Out;
  for (unsigned I = 0; I < std::min<unsigned>(Given.size(), Parameters.size()); ++I)
    if (const TemplateArgument &A = Given[I]; A.getKind() == TemplateArgument::Type && !A.getAsType().hasQualifiers())
      if (const CXXRecordDecl *Record = userRecord(A.getAsType(), View))
        Out.push_back({I, Record});
  if (Out.empty())
    return Out;
  ParameterNames Names(Parameters.getDepth());
  Names.TraverseDecl(Template);
  std::erase_if(Out, [&](const RecordArgument &A) { return !Names.PointedTo.count(A.Position); });
  return Out;
}

std::vector<RecordArgument> recordArguments(const FunctionDecl *F, const SourceView &View) {
  const FunctionDecl *Pattern = F->getPrimaryTemplate() ? F->getTemplateInstantiationPattern() : nullptr;
  const TemplateArgumentList *Given = F->getTemplateSpecializationArgs();
  const TemplateParameterList *Parameters = Pattern ? parametersOf(Pattern) : nullptr;
  if (!Parameters || !Given)
    return {};
  return recordsAmong(Given->asArray(), *Parameters, Pattern->getDescribedFunctionTemplate(), View);
}

/// The template's definition; null where that is not what \p C is made from.
static const CXXRecordDecl *patternOf(const ClassTemplateSpecializationDecl *C) {
  const bool Implicit = C->getTemplateSpecializationKind() != TSK_ExplicitSpecialization && !llvm::isa<ClassTemplatePartialSpecializationDecl>(C) &&
                        llvm::isa_and_nonnull<ClassTemplateDecl *>(C->getSpecializedTemplateOrPartial());
  return Implicit ? C->getSpecializedTemplate()->getTemplatedDecl()->getDefinition() : nullptr;
}

std::vector<RecordArgument> recordArguments(const ClassTemplateSpecializationDecl *C, const SourceView &View) {
  const CXXRecordDecl *Pattern = patternOf(C);
  if (!Pattern || !View.isUserCode(Pattern->getLocation()))
    return {};
  ClassTemplateDecl *Template = Pattern->getDescribedClassTemplate();
  return recordsAmong(C->getTemplateArgs().asArray(), *Template->getTemplateParameters(), Template, View);
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

/// The names of its parameters \p List in the text \p Text of \p Template; what is wrong with it, if something is.
static std::string respellParameters(TemplateDecl *Template, Range Text, llvm::ArrayRef<Range> List, llvm::ArrayRef<RecordArgument> Records, const SourceView &View,
                                     RecordTemplate &Out) {
  const TemplateParameterList *Parameters = Template->getTemplateParameters();
  ParameterNames Names(Parameters->getDepth());
  Names.TraverseDecl(Template);
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
  for (const TextToken &T : tokensOf(View.text(Text)))
    for (const RecordArgument &A : Records) {
      unsigned At = Text.Begin + T.Where.Begin;
      if (T == Parameters->getParam(A.Position)->getName() && !Seen.count(At) && !List[A.Position].contains({At, At + 1}))
        return "uses the name of its template parameter in a way that is not understood";
    }
  return "";
}

/// Adds what one declaration of the template needs; what is wrong with it, if something is.
static std::string respell(const FunctionDecl *Pattern, llvm::ArrayRef<RecordArgument> Records, const SourceView &View, RecordTemplate &Out) {
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
  return respellParameters(Pattern->getDescribedFunctionTemplate(), *Text, List, Records, View, Out);
}

/// Where what is written for the records alone goes.
static void place(const NamedDecl *First, const DeclContext *Around, llvm::ArrayRef<RecordArgument> Records, const SourceView &View, ForRecords &How) {
  for (const RecordArgument &A : Records) {
    How.Positions.push_back(A.Position);
    How.Behind |= View.sourceManager().isBeforeInTranslationUnit(First->getLocation(), A.Record->getLocation());
  }
  bool Global = llvm::all_of(Records, [](const RecordArgument &A) { return A.Record->getDeclContext()->isTranslationUnit(); });
  for (const DeclContext *C = Around; Global && C; C = C->getParent())
    if (const NamespaceDecl *N = dyn_cast<NamespaceDecl>(C); N && !N->isAnonymousNamespace())
      How.Namespace = N->getName().str() + (How.Namespace.empty() ? "" : "::") + How.Namespace;
}

RecordTemplate recordFunction(const FunctionDecl *F, llvm::ArrayRef<RecordArgument> Records, const SourceView &View) {
  RecordTemplate Out;
  const FunctionDecl *Pattern = F->getTemplateInstantiationPattern();
  for (const FunctionDecl *D : Pattern->redecls())
    if (Out.Objection.empty())
      Out.Objection = respell(D, Records, View, Out);
  for (const RecordArgument &A : Records)
    Out.How.NewName += A.Record->getName().str() + "_";
  Out.How.NewName += F->getNameAsString();
  place(Pattern->getFirstDecl(), Pattern->getDeclContext(), Records, View, Out.How);
  return Out;
}

/// Members that no instantiation asks for stay declarations: from the end of \p F's head to that of its body.
static std::optional<Range> bodyOf(const FunctionDecl *F, const SourceView &View) {
  SourceLocation Begin = F->getBody()->getBeginLoc();
  if (const CXXConstructorDecl *C = dyn_cast<CXXConstructorDecl>(F))
    for (const CXXCtorInitializer *I : C->inits())
      if (I->isWritten() && View.sourceManager().isBeforeInTranslationUnit(I->getSourceLocation(), Begin))
        Begin = I->getSourceLocation();
  std::optional<Range> First = View.range(Begin), Body = View.range(F->getBody()->getSourceRange());
  if (!First || !Body)
    return std::nullopt;
  if (First->Begin != Body->Begin) {
    size_t Colon = View.buffer().take_front(First->Begin).rtrim().size();
    if (View.buffer()[Colon - 1] != ':')
      return std::nullopt;
    First->Begin = Colon - 1;
  }
  return Range{unsigned(View.buffer().take_front(First->Begin).rtrim().size()), Body->End};
}

std::optional<Range> textOf(const ClassTemplateSpecializationDecl *C, const SourceView &View) {
  const CXXRecordDecl *Pattern = patternOf(C);
  std::optional<Range> Text = View.range({Pattern->getDescribedClassTemplate()->getTemplateParameters()->getTemplateLoc(), Pattern->getEndLoc()});
  if (Text)
    Text->End = behindSemicolon(View.buffer(), Text->End);
  return Text && Text->End ? Text : std::nullopt;
}

RecordTemplate recordClass(const ClassTemplateSpecializationDecl *C, llvm::ArrayRef<RecordArgument> Records, const SourceView &View) {
  RecordTemplate Out;
  const CXXRecordDecl *Pattern = patternOf(C);
  ClassTemplateDecl *Template = Pattern->getDescribedClassTemplate();
  const TemplateParameterList *Parameters = Template->getTemplateParameters();
  auto object = [&](const char *Why) {
    Out.Objection = Why;
    return Out;
  };
  if (Parameters->size() != Records.size())
    return object("has parameters that stand for no record");
  if (Parameters->hasAssociatedConstraints())
    return object("has constraints");
  if (!Pattern->getDeclContext()->getRedeclContext()->isFileContext())
    return object("is a member of a class");
  if (C->getTemplateSpecializationKind() != TSK_ImplicitInstantiation)
    return object("is instantiated explicitly");
  for (const Decl *D : Pattern->decls())
    if (const VarDecl *V = dyn_cast<VarDecl>(D); V && !V->isInline())
      return object("has static members");
  for (const CXXMethodDecl *M : Pattern->methods())
    if (llvm::any_of(M->redecls(), [](const FunctionDecl *D) { return D->isOutOfLine(); }))
      return object("has members that are defined outside of it");
  std::optional<Range> Head = View.range({Parameters->getTemplateLoc(), Parameters->getRAngleLoc()}), Name = View.range(Pattern->getLocation()), Text = textOf(C, View);
  std::vector<Range> List;
  for (const NamedDecl *P : *Parameters)
    if (std::optional<Range> R = View.range(P->getSourceRange()))
      List.push_back(*R);
  if (!Head || !Name || !Text || List.size() != Parameters->size())
    return object(ByMacro);
  std::string Arguments;
  for (const RecordArgument &A : Records)
    Arguments += (Arguments.empty() ? "" : ", ") + qualifiedName(A.Record);
  Out.Edits.push_back({*Head, "template <>"});
  Out.Edits.push_back({*Name, Pattern->getName().str() + "<" + Arguments + ">"});
  Out.Objection = respellParameters(Template, *Text, List, Records, View, Out);
  for (const CXXMethodDecl *M : C->methods()) {
    const FunctionDecl *Written = M->getInstantiatedFromMemberFunction();
    if (M->isImplicit() || M->isDefined() || !Written || !Written->doesThisDeclarationHaveABody() || Written->isDefaulted() || Written->isDeleted())
      continue;
    if (std::optional<Range> Body = bodyOf(Written, View))
      Out.Unused.push_back(*Body);
    else
      return object(ByMacro);
  }
  place(Pattern, Pattern->getDeclContext(), Records, View, Out.How);
  return Out;
}

RecordCall recordCall(const CallExpr *Call, llvm::ArrayRef<RecordArgument> Records, const SourceView &View) {
  RecordCall Out;
  const DeclRefExpr *Name = dyn_cast<DeclRefExpr>(Call->getCallee()->IgnoreParenImpCasts());
  const MemberExpr *Member = dyn_cast<MemberExpr>(Call->getCallee()->IgnoreParenImpCasts());
  Out.Unclear = Member && Member->hasExplicitTemplateArgs();
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
