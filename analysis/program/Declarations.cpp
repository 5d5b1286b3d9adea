#include "analysis/program/Declarations.h"
#include "analysis/program/Around.h"

#include "clang/AST/ParentMapContext.h"
#include "clang/AST/TypeLoc.h"

using namespace clang;

namespace restride {

void DeclarationTable::add(const DeclaratorDecl *D) {
  if (!isa<VarDecl, FieldDecl>(D) || D->getLocation().isInvalid())
    return;
  std::vector<const DeclaratorDecl *> &Group = Groups[{D->getBeginLoc().getRawEncoding(), Graph.madeFor(D->getDeclContext())}];
  for (const DeclaratorDecl *Other : Group) // instantiations repeat their template's
    if (Other->getLocation() == D->getLocation())
      return;
  Group.push_back(D);
}

void DeclarationTable::addResult(const FunctionDecl *F, NodeId Node) { Results.push_back({F, Node}); }

/// The part of a `T *` that names T. Null where a typedef or template hides the star.
static TypeLoc pointeeName(TypeLoc T) {
  if (ReferenceTypeLoc R = T.getAs<ReferenceTypeLoc>()) {
    T = R.getPointeeLoc();
    if (!T.getType()->isPointerType()) // to an element
      return T.getUnqualifiedLoc();
  }
  if (AdjustedTypeLoc A = T.getAs<AdjustedTypeLoc>())
    T = A.getOriginalLoc();
  T = T.getUnqualifiedLoc();
  const ArrayTypeLoc A = T.getAs<ArrayTypeLoc>();
  if (A)
    T = A.getElementLoc().getUnqualifiedLoc();
  if (PointerTypeLoc P = T.getAs<PointerTypeLoc>()) {
    const PointerTypeLoc Inner = P.getPointeeLoc().getAs<PointerTypeLoc>(); // a parameter `T **`
    return (Inner ? Inner : P).getPointeeLoc().getUnqualifiedLoc();
  }
  return A ? T : T.getAs<AutoTypeLoc>();
}

/// The type of a std::unique_ptr, as it is written.
static TypeLoc ownerTypeName(TypeLoc T) {
  if (ReferenceTypeLoc R = T.getAs<ReferenceTypeLoc>())
    T = R.getPointeeLoc();
  T = T.getUnqualifiedLoc();
  const AutoTypeLoc Auto = T.getAs<AutoTypeLoc>();
  return Auto ? TypeLoc(Auto) : T;
}

std::string scopeName(const CXXRecordDecl *Record) {
  std::string Qualified = qualifiedName(Record);
  size_t Colon = Qualified.rfind("::");
  return Colon == std::string::npos ? "" : Qualified.substr(0, Colon + 2);
}

/// "geo::" where \p Name is another name of a record in geo, or a template's parameter that stands for it, "const
/// geo::" where it says so.
static std::optional<std::string> scopeOf(TypeLoc Name) {
  const CXXRecordDecl *Record = Name.getType()->getAsCXXRecordDecl();
  TypedefTypeLoc Alias = Name.getAs<TypedefTypeLoc>();
  bool Own = Alias && Record && Alias.getDecl()->getDeclContext()->Equals(Record->getDeclContext());
  if (!Record || Own || (!Alias && !Name.getAs<UsingTypeLoc>() && !Name.getAs<SubstTemplateTypeParmTypeLoc>()))
    return std::nullopt;
  return (Name.getType().isConstQualified() ? "const " : "") + scopeName(Record);
}

bool DeclarationTable::typeName(const DeclaratorDecl *D, NodeId Node, Declaration &Out) {
  auto Refuse = [&](std::string Why) {
    Graph.refuse(Node, D->getLocation(), "'" + D->getName().str() + "' " + std::move(Why));
    return false;
  };
  if (!D->getTypeSourceInfo())
    return Refuse("has no type in the source");
  const bool Owner = !Graph.facts(Node).Owns.empty();
  TypeLoc Name = Owner ? ownerTypeName(D->getTypeSourceInfo()->getTypeLoc()) : pointeeName(D->getTypeSourceInfo()->getTypeLoc());
  const bool Parameter = Name && Name.getAs<SubstTemplateTypeParmTypeLoc>();
  if (!Name || (Parameter && Graph.madeFor(D->getDeclContext()).empty()) || Name.getAs<TemplateTypeParmTypeLoc>())
    return Refuse("is declared through a typedef of the pointer or a template parameter");
  if (TagTypeLoc Tag = Name.getAs<TagTypeLoc>(); Tag && Tag.isDefinition())
    return Refuse("is declared together with its record; give it a declaration of its own behind the record");
  Out.Auto = bool(Name.getAs<AutoTypeLoc>());
  std::optional<Range> R = View.range(Name.getSourceRange());
  if (!R)
    return Refuse(View.isEditable(D->getLocation()) ? "is declared by a macro" : "is declared in a header, which stays as it is");
  Out.RecordName = *R;
  Out.Owner = Owner;
  Out.Scope = Owner || Name.getType()->isVoidType() ? scopeName(Graph.decl(Graph.facts(Node).Record)) : scopeOf(Name);
  return true;
}

/// What a reference to the pointer keeps when the pointer goes.
static std::string referenceMark(QualType T) {
  if (T->isRValueReferenceType())
    return "&&";
  if (!T->isLValueReferenceType())
    return "";
  return T.getNonReferenceType().isConstQualified() ? "const &" : "&";
}

static unsigned skipBlank(llvm::StringRef Text, unsigned At) {
  size_t Next = Text.find_first_not_of(" \t\r\n", At);
  return Next == llvm::StringRef::npos ? Text.size() : Next;
}

/// Blanks and comments.
static unsigned skipComments(llvm::StringRef Text, unsigned At) {
  for (;;) {
    At = skipBlank(Text, At);
    llvm::StringRef Rest = Text.substr(At);
    size_t End = Rest.starts_with("//") ? Rest.find('\n') : Rest.starts_with("/*") ? Rest.find("*/", 2) : 0;
    if (End == 0 || End == llvm::StringRef::npos)
      return At;
    At += End + (Rest.starts_with("/*") ? 2 : 0);
  }
}

unsigned behindSemicolon(llvm::StringRef Text, unsigned At) {
  At = skipComments(Text, At);
  return Text.substr(At).starts_with(";") ? At + 1 : 0;
}

/// After the record's name there may be cv-qualifiers ("P const *p").
static unsigned endOfSpecifiers(llvm::StringRef Text, unsigned At) {
  for (;;) {
    unsigned Next = skipBlank(Text, At);
    llvm::StringRef Rest = Text.substr(Next);
    llvm::StringRef Word = Rest.starts_with("const") ? "const" : Rest.starts_with("volatile") ? "volatile" : "";
    if (Word.empty() || Next == At)
      return Next;
    At = Next + Word.size();
  }
}

/// "for (P *a = p, *b = q; ...)": no second declaration can stand there.
static bool inLoopHead(const DeclaratorDecl *D) {
  ASTContext &Context = D->getASTContext();
  return isa_and_nonnull<ForStmt>(parentOf(statementOf(D, Context), Context));
}

std::optional<Declaration> DeclarationTable::declaration(const std::vector<const DeclaratorDecl *> &Group) {
  std::optional<NodeId> First;
  const DeclaratorDecl *Tracked = nullptr;
  for (const DeclaratorDecl *D : Group)
    if (std::optional<NodeId> N = Graph.node(D); N && !First) {
      First = N;
      Tracked = D;
    }
  if (!First)
    return std::nullopt;
  auto Refuse = [&](std::string Why) {
    for (const DeclaratorDecl *D : Group)
      if (std::optional<NodeId> N = Graph.node(D))
        Graph.refuse(*N, D->getLocation(), "the declaration of '" + D->getName().str() + "' " + Why);
    return std::nullopt;
  };
  if (Group.size() > 1 && inLoopHead(Tracked))
    return Refuse("has others beside it in a loop's head; declare it in front of the loop");
  Declaration Out;
  if (!typeName(Tracked, *First, Out))
    return std::nullopt;
  std::optional<Range> Begin = View.range(Group.front()->getBeginLoc());
  if (!Begin && Graph.facts(*First).Sites.declared()) // __device__ and its kind are macros
    Begin = Out.RecordName;
  if (!Begin)
    return Refuse("is written by a macro");
  unsigned At = endOfSpecifiers(View.buffer(), Out.RecordName.End);
  Out.Specifiers = {Begin->Begin, At};
  for (const DeclaratorDecl *D : Group) {
    if (D->getQualifier())
      return Refuse("stands outside of its class");
    std::optional<Range> End = View.range(D->getEndLoc()), Name = View.range(D->getLocation());
    if (D->getName().empty())
      Name = Range{skipBlank(View.buffer(), End ? End->End : At), skipBlank(View.buffer(), End ? End->End : At)};
    if (!End || !Name)
      return Refuse("is written by a macro");
    if (const VarDecl *V = dyn_cast<VarDecl>(D); V && V->hasInit() && V->getInitStyle() == VarDecl::CallInit) {
      unsigned Parenthesis = skipBlank(View.buffer(), End->End);
      if (View.buffer().substr(Parenthesis).starts_with(")"))
        End->End = Parenthesis + 1;
    }
    if (D != Group.front()) {
      At = skipBlank(View.buffer(), At);
      if (At >= View.buffer().size() || View.buffer()[At] != ',')
        return Refuse("is too unusual to take apart");
      At = skipComments(View.buffer(), At + 1);
    }
    if (Name->Begin < At)
      return Refuse("is too unusual to take apart");
    Declarator One;
    One.Text = {At, std::max(End->End, Name->End)};
    One.Name = *Name;
    if (std::optional<NodeId> N = Graph.node(D)) {
      One.Candidate = *N;
      const NodeFacts &F = Graph.facts(*N);
      One.ToElement = F.ToElement;
      One.Scope = F.Owner.empty() ? F.Class : F.Owner;
      One.Slot = F.Slot;
      One.Reference = One.ToElement ? "" : F.ByAddress ? "*" : referenceMark(D->getType());
      if (const ParmVarDecl *P = dyn_cast<ParmVarDecl>(D))
        One.HasDefault = P->hasDefaultArg();
      bool Array = Graph.facts(*N).Sites.declared();
      if (Array && (Group.size() > 1 || Name->Begin != At || !View.text({Name->End, One.Text.End}).trim().starts_with("[")))
        return Refuse(Group.size() > 1 ? "declares other variables too; give the array a declaration of its own" : "is too unusual to take apart");
      if (Array || (!F.Several && View.text({Name->End, One.Text.End}).starts_with("[")))
        One.Suffix = Range{Name->End, One.Text.End};
    }
    At = One.Text.End;
    Out.Declarators.push_back(One);
  }
  Out.End = behindSemicolon(View.buffer(), At);
  return Out;
}

std::vector<Declaration> DeclarationTable::build() {
  std::vector<Declaration> Out;
  for (auto &[Key, Group] : Groups) {
    llvm::stable_sort(Group, [](const DeclaratorDecl *A, const DeclaratorDecl *B) { return A->getLocation() < B->getLocation(); });
    if (std::optional<Declaration> D = declaration(Group))
      Out.push_back(std::move(*D));
  }
  for (const auto &[F, Node] : Results) {
    const TypeSourceInfo *Converts = isa<CXXConversionDecl>(F) ? F->getNameInfo().getNamedTypeInfo() : nullptr;
    TypeLoc Result = Converts ? Converts->getTypeLoc() : F->getFunctionTypeLoc() ? F->getFunctionTypeLoc().getReturnLoc() : TypeLoc();
    const bool Owner = !Graph.facts(Node).Owns.empty();
    TypeLoc Name = !Result ? TypeLoc() : Owner ? ownerTypeName(Result) : pointeeName(Result);
    bool Free = Name && (!Name.getAs<SubstTemplateTypeParmTypeLoc>() || !Graph.madeFor(F).empty());
    std::optional<Range> R = Free ? View.range(Name.getSourceRange()) : std::nullopt;
    std::optional<Range> Begin = View.range(F->getBeginLoc()), FunctionName = View.range(F->getLocation());
    if (!Begin) // __device__ and its kind are macros
      Begin = R;
    if (Converts && FunctionName) { // the type stands behind `operator`, and is the name
      const unsigned Type = skipBlank(View.buffer(), FunctionName->End), Star = R ? skipBlank(View.buffer(), endOfSpecifiers(View.buffer(), R->End)) : 0;
      Begin = Range{Type, Type};
      FunctionName = Range{Star + 1, Star + 1};
    }
    if (!R || !FunctionName || Name.getAs<AutoTypeLoc>()) {
      Graph.refuse(Node, F->getLocation(), "the result type of '" + F->getNameAsString() + "' cannot be respelled");
      continue;
    }
    Declaration D;
    D.RecordName = *R;
    D.Owner = Owner;
    D.Scope = Owner ? scopeName(Graph.decl(Graph.facts(Node).Record)) : scopeOf(Name);
    D.Specifiers = {Begin->Begin, endOfSpecifiers(View.buffer(), R->End)};
    // Nothing between the star and the name but blanks, or it is no plain result.
    Declarator &One = D.Declarators.emplace_back();
    One.Text = {D.Specifiers.End, FunctionName->Begin};
    One.Name = {FunctionName->Begin, FunctionName->Begin};
    One.Candidate = int(Node);
    const llvm::StringRef Mark = View.text(D.Declarators[0].Text).trim();
    if (Owner ? !Mark.empty() && Mark != "&" : Mark != "*")
      Graph.refuse(Node, F->getLocation(), "the result type of '" + F->getNameAsString() + "' cannot be respelled");
    else
      Out.push_back(std::move(D));
  }
  return Out;
}

} // namespace restride
