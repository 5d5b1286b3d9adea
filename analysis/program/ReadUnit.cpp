#include "analysis/program/Comments.h"
#include "analysis/program/Evaluate.h"
#include "analysis/program/FieldCopyCode.h"
#include "analysis/program/ProgramFacts.h"
#include "analysis/program/Sizes.h"
#include "analysis/program/UnitVisitor.h"
#include "analysis/program/Untyped.h"
#include "layouts/Layout.h"

#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace restride {

static std::vector<Decl *> userDeclarations(ASTContext &Context, const SourceView &View) {
  std::vector<Decl *> Out;
  TranslationUnitDecl *All = Context.getTranslationUnitDecl();
  // Precompiled headers are not the user's, and need not be loaded; a unit that
  // comes from a file itself must be.
  if (Context.getSourceManager().isLoadedFileID(Context.getSourceManager().getMainFileID()))
    All->decls_begin();
  for (Decl *D : All->noload_decls())
    if (!D->isImplicit() && View.isUserCode(D->getLocation().isValid() ? D->getLocation() : D->getBeginLoc()))
      Out.push_back(D);
  return Out;
}

/// Handle types that an earlier run wrote: records below a line with the mark.
static void addHandles(llvm::ArrayRef<Decl *> Scope, const SourceView &View, std::set<std::string> &Out) {
  llvm::SmallVector<const Decl *> Work(Scope.begin(), Scope.end());
  while (!Work.empty()) {
    const Decl *D = Work.pop_back_val();
    if (const NamespaceDecl *N = dyn_cast<NamespaceDecl>(D))
      Work.append(N->decls_begin(), N->decls_end());
    const ClassTemplateDecl *Template = dyn_cast<ClassTemplateDecl>(D);
    const CXXRecordDecl *R = Template ? Template->getTemplatedDecl() : dyn_cast<CXXRecordDecl>(D);
    std::optional<Range> At = R ? View.range(D->getBeginLoc()) : std::nullopt;
    if (At && View.buffer().substr(commentAbove(View.buffer(), At->Begin)).starts_with(GeneratedMark))
      Out.insert(R->getName().str());
  }
}

static void evaluateCalls(Unit &U, unsigned UnitId, Flow &Graph, const Evaluator &Values, ASTContext &Context, const SourceView &View) {
  for (const UnitFacts::Call &Call : U.Facts.Calls) {
    NodeFacts &Node = Graph.facts(Call.Node);
    QualType Element = Graph.type(Node.Record);
    HostCall &Site = Node.Sites.Calls[Call.Index];
    Site.Times = Values.timesInAllCalls(Call.E);
    if (!Call.Bytes)
      continue;
    if (std::optional<Estimate> Bytes = Values.integer(Call.Bytes)) {
      Site.Bytes = Bytes->Value;
      if (Site.What <= HostCall::MallocAsync) {
        double Count = double(Bytes->Value) / Context.getTypeSizeInChars(Element).getQuantity();
        if (Count > Node.Sites.Elements.Count)
          Node.Sites.Elements = {Count, Bytes->Assumed};
      }
    }
    if (!Site.Field.empty())
      continue; // the function itself looks at it
    if (Graph.scalars()) {
      CountText Count = elementCount(Call.Bytes, Element, Context, U.Facts);
      Site.Elements = std::move(Count.Text);
      Site.Changing = Count.Changing;
      for (const Expr *E : Count.Changes) {
        std::optional<Range> R = View.range(E->getSourceRange());
        R ? Site.Changes.push_back(*R) : void(Site.Changing = true);
      }
    }
    std::set<const FieldDecl *> Members;
    ByteCount Count = byteCount(Call.Bytes, Element, Context, U.Facts, &Members);
    Site.Scales = Count == ByteCount::Scaled;
    for (const FieldDecl *F : Members)
      Node.CountMembers.push_back({View.place(F->getLocation()), UnitId,
                                   {"", View.where(Call.Bytes->getExprLoc()), "'" + F->getName().str() + "' in this byte count is set in another file too"}});
    if (Count == ByteCount::Whole && !Site.Pointers.empty())
      Node.Sites.SizeObserved = Refusal{"", View.where(Call.Bytes->getExprLoc()), "this byte count does not follow the record's size"};
    if (Count == ByteCount::Unclear)
      Node.Sites.Refusals.push_back({"", View.where(Call.Bytes->getExprLoc()),
                                     "this byte count is not seen to be a whole number of records; write it with sizeof, here or in a "
                                     "variable that gets no other value"});
  }
}

/// All that the unit and its precompiled headers name.
static std::set<std::string> identifiers(const ASTContext &Context, llvm::function_ref<bool(llvm::StringRef)> Wanted) {
  std::set<std::string> Out;
  for (const auto &Entry : Context.Idents)
    if (Wanted(Entry.getKey()))
      Out.insert(Entry.getKey().str());
  if (IdentifierInfoLookup *Precompiled = Context.Idents.getExternalIdentifierLookup()) {
    std::unique_ptr<IdentifierIterator> Names(Precompiled->getIdentifiers());
    for (llvm::StringRef Name = Names->Next(); !Name.empty(); Name = Names->Next())
      if (Wanted(Name))
        Out.insert(Name.str());
  }
  return Out;
}

/// What the unit says about the records behind its pointers.
static void describeRecords(const Unit &U, ProgramFacts &Out, ASTContext &Context, const SourceView &View) {
  Flow &Graph = Out.Graph;
  std::set<unsigned> OnDevice;
  for (NodeId N = 0; N < Graph.size(); ++N)
    if (!Graph.facts(N).Kernels.empty())
      OnDevice.insert(Graph.facts(N).Record);
  for (unsigned Id = 0; Id < Graph.records().size(); ++Id) {
    const CXXRecordDecl *D = Graph.decl(Id);
    if (!D || (U.Facts.Alone && !OnDevice.count(Id)))
      continue;
    TrackedRecord &R = Graph.records()[Id];
    bool New = R.Facts.Where.Line == 0, Main = R.Facts.InMainFile;
    if (New)
      R.Facts = recordFacts(D, Context, View);
    else
      R.Facts.InMainFile = Main && View.inMainFile(D->getLocation());
    llvm::StringRef Name = R.Facts.Type.Name;
    R.FieldCopyCode = fieldCopyCode(Name, U.Scope, View);
    R.Hidden |= U.Facts.Names.count(Name.str());
    if (!R.SizeObserved) {
      SizeObservers Seen = sizeObservers(D, U.Scope, Context, View, U.Facts);
      R.SizeObserved = std::move(Seen.First);
      llvm::append_range(R.SizeUnseen, std::move(Seen.Unseen));
    }
    if (!Name.empty())
      Out.Identifiers.merge(identifiers(Context, [&](llvm::StringRef I) { return I.starts_with(Name); }));
  }
}

/// Names that a member beside a tracked one might take.
static void addMemberNames(const ASTContext &Context, ProgramFacts &Out) {
  std::set<std::string> Members;
  for (const auto &[Type, H] : Out.Graph.holders())
    for (const auto &[Node, Objects] : H.Members)
      Members.insert(Out.Graph.facts(Node).Name + "_");
  Out.Identifiers.merge(identifiers(Context, [&](llvm::StringRef I) {
    return llvm::any_of(Members, [&](const std::string &M) { return I.starts_with(M); });
  }));
}

/// Not so of two functions that are made from one template.
static bool sameArrays(const Declaration &A, const Declaration &B) {
  return llvm::equal(A.Declarators, B.Declarators, [](const Declarator &X, const Declarator &Y) { return X.Candidate == Y.Candidate || X.Candidate < 0 || Y.Candidate < 0; });
}

/// Declarations of headers come with every unit.
static void addDeclarations(std::vector<Declaration> New, std::vector<Declaration> &All) {
  for (Declaration &D : New)
    if (llvm::none_of(All, [&](const Declaration &Old) { return Old.Specifiers == D.Specifiers && sameArrays(Old, D); }))
      All.push_back(std::move(D));
}

/// What one unit leaves out another may read.
static void addSkipped(llvm::ArrayRef<SkippedRange> Skipped, llvm::ArrayRef<size_t> Read, ProgramFacts &Out) {
  for (size_t I : Read) {
    const SourceFile &F = Out.Text.files()[I];
    std::vector<Range> Here;
    for (const SkippedRange &S : Skipped)
      if (S.File == F.Path)
        Here.push_back({F.Text.Begin + S.Begin, F.Text.Begin + S.End});
    auto [At, New] = Out.Skipped.try_emplace(F.Text.Begin, Here);
    if (New)
      continue;
    std::vector<Range> Both;
    for (const Range &A : At->second)
      for (const Range &B : Here)
        if (std::max(A.Begin, B.Begin) < std::min(A.End, B.End))
          Both.push_back({std::max(A.Begin, B.Begin), std::min(A.End, B.End)});
    At->second = std::move(Both);
  }
}

static bool definesMain(llvm::ArrayRef<Decl *> Scope) {
  return llvm::any_of(Scope, [](const Decl *D) { return isa<FunctionDecl>(D) && cast<FunctionDecl>(D)->isMain(); });
}

std::vector<size_t> readUnit(ASTContext &Context, llvm::ArrayRef<SkippedRange> Skipped, bool Alone, bool Again,
                             ProgramFacts &Out) {
  unsigned UnitId = Again ? Out.Units - 1 : Out.Units++;
  SourceView View(Context, Out.Text);
  Out.Graph.read(View);
  DeclarationTable Table(View, Out.Graph);
  Unit U;
  U.Scope = userDeclarations(Context, View);
  U.Facts.Alone = Alone && definesMain(U.Scope); // a library has callers that are not seen
  Context.setTraversalScope(U.Scope);
  Out.Graph.setUntyped(untypedPointers(U.Scope, View));
  collectDeclarations(U, View, Out.Graph, Table, Context);
  collectMemberValues(U, Context);
  collectUses(U, View, Out.Graph, Context);
  Evaluator Values(Context, U.Facts);
  evaluateCalls(U, UnitId, Out.Graph, Values, Context, View);
  addDeclarations(Table.build(), Out.Declarations);
  if (!Out.Graph.scalars()) {
    describeRecords(U, Out, Context, View);
    addMemberNames(Context, Out);
  } else {
    Out.Identifiers.insert(U.Facts.Names.begin(), U.Facts.Names.end());
  }
  addHandles(U.Scope, View, Out.Handles);
  auto Writes = [&](unsigned Key) { Out.MemberWriters[View.place(SourceLocation::getFromRawEncoding(Key))].insert(UnitId); };
  for (const auto &[Key, Values] : U.Facts.MemberValues)
    Writes(Key);
  for (unsigned Key : U.Facts.UnclearMembers)
    Writes(Key);
  if (!Again)
    for (LaunchSite &L : launches(U.Kernels, U.Scope, U.Facts, Values, Out.Graph, Context, View))
      Out.Launches.push_back(std::move(L));
  for (const Decl *D : U.Scope)
    if (std::optional<Range> R = View.range(D->getSourceRange()))
      Out.TopLevel.push_back(*R);
  std::vector<size_t> Files = View.files();
  Out.MainFiles.insert(Out.Text.files()[Files.front()].Text.Begin);
  if (!Context.getLangOpts().CUDA) {
    Out.HostUnits = true;
    Out.HostFiles.insert(Out.Text.files()[Files.front()].Text.Begin);
  }
  addSkipped(Skipped, Files, Out);
  return Files;
}

} // namespace restride
