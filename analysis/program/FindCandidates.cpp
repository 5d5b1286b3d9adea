#include "analysis/program/FindCandidates.h"
#include "analysis/program/Launches.h"
#include "analysis/program/MergeSites.h"
#include "analysis/program/RecordType.h"
#include "analysis/program/Sizes.h"
#include "analysis/program/UnitVisitor.h"
#include "layouts/Layout.h"

#include "clang/Basic/CharInfo.h"

#include <algorithm>

using namespace clang;

namespace restride {

namespace {

/// A flow class on its way to becoming a candidate.
struct ArrayClass {
  const CXXRecordDecl *Record = nullptr;
  std::vector<NodeId> Members;
  bool KernelParameter = false;
};

} // namespace

static std::vector<Decl *> userDeclarations(ASTContext &Context, const SourceView &View) {
  std::vector<Decl *> Out;
  for (Decl *D : Context.getTranslationUnitDecl()->decls())
    if (!D->isImplicit() && View.isUserCode(D->getLocation().isValid() ? D->getLocation() : D->getBeginLoc()))
      Out.push_back(D);
  return Out;
}

static std::map<NodeId, ArrayClass> classes(const Flow &Graph) {
  std::map<NodeId, ArrayClass> Out;
  for (NodeId N = 0; N < Graph.size(); ++N) {
    ArrayClass &C = Out[Graph.root(N)];
    C.Record = Graph.facts(N).Record;
    C.Members.push_back(N);
    C.KernelParameter |= Graph.facts(N).KernelParameter;
  }
  return Out;
}

/// Where the lines of // comment begin that end above the line at \p At; that
/// line's begin where there are none.
static size_t commentAbove(llvm::StringRef Text, size_t At) {
  size_t Begin = Text.take_front(At).rfind('\n') + 1;
  while (Begin > 0) {
    size_t Above = Text.take_front(Begin - 1).rfind('\n') + 1;
    if (!Text.substr(Above).ltrim(" \t").starts_with("//"))
      break;
    Begin = Above;
  }
  return Begin;
}

/// Handle types that an earlier run wrote: records below a line with the mark.
static std::vector<std::string> generatedHandles(llvm::ArrayRef<Decl *> Scope, const SourceView &View) {
  std::vector<std::string> Out;
  llvm::SmallVector<const Decl *> Work(Scope.begin(), Scope.end());
  while (!Work.empty()) {
    const Decl *D = Work.pop_back_val();
    if (const NamespaceDecl *N = dyn_cast<NamespaceDecl>(D))
      Work.append(N->decls_begin(), N->decls_end());
    const CXXRecordDecl *R = dyn_cast<CXXRecordDecl>(D);
    std::optional<Range> At = R ? View.range(R->getBeginLoc()) : std::nullopt;
    if (!At)
      continue;
    if (View.buffer().substr(commentAbove(View.buffer(), At->Begin)).starts_with(GeneratedMark))
      Out.push_back(R->getName().str());
  }
  return Out;
}

/// The class lives in generated code: its record is a handle, or it never
/// leaves the helper functions.
static bool isGenerated(const ArrayClass &Class, const Flow &Graph, llvm::ArrayRef<std::string> Handles) {
  if (llvm::is_contained(Handles, Class.Record->getName()))
    return true;
  return llvm::all_of(Class.Members, [&](NodeId N) {
    return llvm::any_of(Handles, [&](const std::string &H) { return llvm::StringRef(Graph.facts(N).Function).starts_with(H + "_"); });
  });
}

template <typename T> static void append(std::vector<T> &To, const std::vector<T> &From) {
  To.insert(To.end(), From.begin(), From.end());
}

static void evaluateCalls(Unit &U, Flow &Graph, const Evaluator &Values, ASTContext &Context, const SourceView &View) {
  for (const UnitFacts::Call &Call : U.Facts.Calls) {
    NodeFacts &Node = Graph.facts(Call.Node);
    HostCall &Site = Node.Sites.Calls[Call.Index];
    Site.Times = Values.timesExecuted(Call.E, Context);
    if (!Call.Bytes)
      continue;
    if (std::optional<Estimate> Bytes = Values.integer(Call.Bytes)) {
      Site.Bytes = Bytes->Value;
      if (Site.What <= HostCall::MallocAsync) {
        double Count = double(Bytes->Value) / Context.getTypeSizeInChars(Context.getCanonicalTagType(Node.Record)).getQuantity();
        if (Count > Node.Sites.Elements.Count)
          Node.Sites.Elements = {Count, Bytes->Assumed};
      }
    }
    ByteCount Count = byteCount(Call.Bytes, Node.Record, Context, U.Facts);
    if (Count == ByteCount::Whole && !Site.Pointers.empty())
      Node.Sites.SizeObserved = Refusal{"", View.where(Call.Bytes->getExprLoc()), "this byte count does not follow the record's size"};
    if (Count == ByteCount::Unclear)
      Node.Sites.Refusals.push_back({"", View.where(Call.Bytes->getExprLoc()),
                                     "this byte count is not seen to be a whole number of records; write it with sizeof"});
  }
}

/// Names of the candidate that text at \p R can use. One letter is everybody's,
/// so it counts in its own function only.
static std::vector<std::string> namesAt(const Range &R, const Candidate &C, const ArrayClass &Class, const Flow &Graph) {
  std::vector<std::string> Out{C.Type.Name};
  bool Inside = false;
  for (NodeId N : Class.Members) {
    const NodeFacts &F = Graph.facts(N);
    bool Here = F.Scope && F.Scope->contains(R);
    Inside |= Here;
    if (F.Name.size() > 1 || Here || F.Function.empty())
      Out.push_back(F.Name);
  }
  for (const Alias &A : C.Aliases)
    if (A.Name.size() > 1 || Inside)
      Out.push_back(A.Name);
  return Out;
}

/// Words of skipped text that name something of the candidate.
static void checkSkipped(Candidate &C, const ArrayClass &Class, const Flow &Graph, llvm::ArrayRef<Range> Skipped, const SourceView &View) {
  for (const Range &R : Skipped) {
    std::vector<std::string> Names = namesAt(R, C, Class, Graph);
    llvm::StringRef Text = View.text(R);
    for (size_t I = 0; I < Text.size();) {
      if (Text.substr(I).starts_with("//") || Text.substr(I).starts_with("/*")) {
        I = std::min(Text[I + 1] == '/' ? Text.find('\n', I) : Text.find("*/", I + 2), Text.size());
        continue;
      }
      if (!isAsciiIdentifierStart(Text[I])) {
        ++I;
        continue;
      }
      size_t End = I;
      while (End < Text.size() && isAsciiIdentifierContinue(Text[End]))
        ++End;
      llvm::StringRef Word = Text.slice(I, End);
      if (llvm::is_contained(Names, Word)) {
        llvm::StringRef Before = View.buffer().take_front(R.Begin + I);
        size_t Line = Before.count('\n') + 1, Column = Before.size() - (Before.rfind('\n') + 1) + 1;
        C.Refusals.push_back({"", {C.Where.File, unsigned(Line), unsigned(Column)},
                              "'" + Word.str() + "' is used in text that the preprocessor leaves out here"});
        return;
      }
      I = End;
    }
  }
}

static void checkOrigins(Candidate &C, const ArrayClass &Class, const Flow &Graph) {
  bool Allocated = llvm::any_of(C.Calls, [](const HostCall &H) { return H.What <= HostCall::MallocAsync; });
  for (NodeId N : Class.Members)
    for (const Origin &O : Graph.facts(N).Origins)
      C.Refusals.push_back({"", O.Where,
                            O.K == Origin::Host ? "host memory reaches the same pointers (" + O.What + ")"
                                                : "the pointer comes from " + O.What});
  if (C.Elements.Count == 1 && !C.Elements.Assumed)
    C.Refusals.push_back({"", C.ArrayWhere, "it is one object and not an array"});
  if (!Allocated)
    C.Refusals.push_back({"", C.ArrayWhere, "no cudaMalloc or cudaMallocManaged of this array is seen"});
}

static Candidate assemble(const ArrayClass &Class, Flow &Graph, ASTContext &Context, const SourceView &View) {
  Candidate C;
  RecordFacts Facts = recordFacts(Class.Record->getDefinition(), Context, View);
  C.Type = Facts.Type;
  C.Where = Facts.Where;
  C.Refusals = Facts.Refusals;
  C.HelperAt = Facts.HelperAt;
  C.AttributeAt = Facts.AttributeAt;
  C.FriendAt = Facts.FriendAt;
  for (NodeId N : Class.Members) {
    const NodeFacts &F = Graph.facts(N);
    append(C.Nulls, F.Sites.Nulls);
    append(C.Tests, F.Sites.Tests);
    append(C.Sizes, F.Sites.Sizes);
    append(C.Accesses, F.Sites.Accesses);
    append(C.Aliases, F.Sites.Aliases);
    append(C.Shifts, F.Sites.Shifts);
    append(C.Calls, F.Sites.Calls);
    append(C.Refusals, F.Sites.Refusals);
    append(C.Kernels, F.Kernels);
    if (!C.SizeObserved)
      C.SizeObserved = F.Sites.SizeObserved;
    if (F.Sites.Elements.Count > C.Elements.Count)
      C.Elements = F.Sites.Elements;
    bool Allocated = llvm::any_of(F.Sites.Calls, [](const HostCall &H) { return H.What <= HostCall::MallocAsync; });
    if (C.Array.empty() || (Allocated && C.Elements.Count <= F.Sites.Elements.Count)) {
      C.Array = F.Name;
      C.ArrayWhere = F.Where;
    }
  }
  // Arrays of one record may share a handle type, so they agree on what stays whole.
  for (NodeId N = 0; N < Graph.size(); ++N)
    if (Graph.facts(N).Record == Class.Record)
      for (const std::vector<std::string> &Path : Graph.facts(N).WholeArrays)
        keepWhole(C.Type, Path);
  joinCopies(C);
  dropRepeats(C);
  return C;
}

/// Generated code for a record from a header stands before the first
/// declaration of the main file that the candidate touches.
static unsigned beforeFirstUse(const Candidate &C, llvm::ArrayRef<Declaration> Declarations, int Index,
                               llvm::ArrayRef<Decl *> Scope, const SourceView &View) {
  unsigned First = ~0u;
  for (const Declaration &D : Declarations)
    for (const Declarator &One : D.Declarators)
      if (One.Candidate == Index)
        First = std::min(First, D.Specifiers.Begin);
  for (Decl *D : Scope) {
    std::optional<Range> R = View.range(D->getSourceRange());
    if (R && R->Begin <= First && First < R->End)
      First = std::min(First, R->Begin);
  }
  if (First == ~0u)
    return 0;
  return commentAbove(View.buffer(), First);
}

static llvm::StringRef unqualified(llvm::StringRef Name) { return Name.substr(Name.rfind(':') + 1); }

static void spellRecord(Candidate &C, const CXXRecordDecl *Record, const UnitFacts &Facts) {
  C.Spelling = qualifiedName(Record);
  if (!Facts.Names.count(unqualified(C.Type.Name).str()))
    return;
  if (Record->getName() != unqualified(C.Type.Name)) // a typedef's name has no "struct" in front
    C.Refusals.push_back({"", C.Where, "'" + C.Type.Name + "' is also the name of a variable, which hides the record"});
  C.Spelling = (Record->getKindName() + " " + C.Spelling).str();
}

static void nameCandidates(std::vector<Candidate> &All) {
  std::map<std::string, unsigned> OfRecord, OfName;
  for (Candidate &C : All)
    ++OfRecord[C.Type.Name];
  for (Candidate &C : All) {
    C.SharesRecord = OfRecord[C.Type.Name] > 1;
    C.Name = C.SharesRecord ? C.Type.Name + "." + C.Array : C.Type.Name;
    if (unsigned Nth = ++OfName[C.Name]; Nth > 1)
      C.Name += "." + std::to_string(Nth);
  }
}

Program findCandidates(ASTContext &Context, llvm::ArrayRef<Range> Skipped) {
  SourceView View(Context);
  Flow Graph(View);
  DeclarationTable Table(View, Graph);
  Unit U;
  U.Scope = userDeclarations(Context, View);
  Context.setTraversalScope(U.Scope);
  collectDeclarations(U, View, Graph, Table, Context);
  collectUses(U, View, Graph, Context);
  Evaluator Values(Context, U.Facts);
  evaluateCalls(U, Graph, Values, Context, View);
  std::vector<Declaration> Declarations = Table.build();

  Program Out;
  std::vector<std::string> Handles = generatedHandles(U.Scope, View);
  std::map<NodeId, int> IndexOf; // by class
  for (const auto &[Root, Class] : classes(Graph)) {
    if (!Class.KernelParameter || isGenerated(Class, Graph, Handles))
      continue;
    IndexOf[Root] = Out.Candidates.size();
    Candidate C = assemble(Class, Graph, Context, View);
    checkOrigins(C, Class, Graph);
    spellRecord(C, Class.Record->getDefinition(), U.Facts);
    checkSkipped(C, Class, Graph, Skipped, View);
    if (!C.SizeObserved)
      C.SizeObserved = sizeObserver(Class.Record, U.Scope, Context, View, U.Facts);
    if (!C.AttributeAt && !C.SizeObserved)
      C.SizeObserved = Refusal{"", C.Where, "the record is defined elsewhere"};
    Out.Candidates.push_back(std::move(C));
  }
  for (Declaration &D : Declarations) {
    bool Any = false;
    for (Declarator &One : D.Declarators) {
      if (One.Candidate < 0)
        continue;
      auto At = IndexOf.find(Graph.root(One.Candidate));
      One.Candidate = At == IndexOf.end() ? -1 : At->second;
      // A pointer that became an index is declared by its alias.
      if (One.Candidate >= 0 && llvm::any_of(Out.Candidates[One.Candidate].Aliases, [&](const Alias &A) {
            return A.Declaration.contains(One.Name);
          })) {
        if (D.Declarators.size() > 1)
          Out.Candidates[One.Candidate].Refusals.push_back(
              {"", Out.Candidates[One.Candidate].ArrayWhere, "an element pointer is declared together with others"});
        One.Candidate = -1;
      }
      Any |= One.Candidate >= 0;
    }
    if (Any)
      Out.Declarations.push_back(std::move(D));
  }
  for (size_t I = 0; I < Out.Candidates.size(); ++I)
    if (Out.Candidates[I].HelperAt == 0)
      Out.Candidates[I].HelperAt = beforeFirstUse(Out.Candidates[I], Out.Declarations, I, U.Scope, View);
  nameCandidates(Out.Candidates);
  Out.Launches = launches(U.Kernels, U.Facts, Values, Context, View);
  for (const auto &Entry : Context.Idents)
    for (const Candidate &C : Out.Candidates)
      if (Entry.getKey().starts_with(unqualified(C.Type.Name)))
        Out.Identifiers.push_back(Entry.getKey().str());
  llvm::sort(Out.Identifiers);
  return Out;
}

} // namespace restride
