#include "analysis/program/Assemble.h"
#include "analysis/program/Comments.h"
#include "analysis/program/Indexed.h"
#include "analysis/program/Instances.h"
#include "analysis/program/Members.h"
#include "analysis/program/MergeSites.h"
#include "analysis/program/Methods.h"
#include "analysis/program/Placement.h"
#include "analysis/program/Skipped.h"

#include <algorithm>

namespace restride {

static bool allocates(const HostCall &H) { return H.What <= HostCall::MallocAsync; }

/// The class lives in generated code: its record is a handle, or it never
/// leaves the helper functions.
static bool isGenerated(llvm::ArrayRef<NodeId> Class, const ProgramFacts &F) {
  auto Name = [&](NodeId N) { return F.Graph.records()[F.Graph.facts(N).Record].Facts.Type.Name; };
  if (F.Handles.count(Name(Class.front())))
    return true;
  return llvm::all_of(Class, [&](NodeId N) {
    return llvm::any_of(F.Handles, [&](const std::string &H) { return llvm::StringRef(F.Graph.facts(N).Function).starts_with(H + "_"); });
  });
}

template <typename T> static void append(std::vector<T> &To, const std::vector<T> &From) { To.insert(To.end(), From.begin(), From.end()); }

/// The record's declaration or one of the pointers' carries a comment that asks for it.
static void checkComments(Candidate &C, llvm::ArrayRef<NodeId> Class, const ProgramFacts &Facts) {
  if (!Facts.Text.text().contains("NORESTRIDE"))
    return;
  auto Check = [&](const Location &At) {
    auto File = llvm::find_if(Facts.Text.files(), [&](const SourceFile &F) { return F.Path == At.File; });
    if (At.Line && File != Facts.Text.files().end() && asksToStay(Facts.Text.text(File->Text), At.Line))
      C.Refusals.push_back({"", At, "a comment asks for it (NORESTRIDE)"});
  };
  Check(C.Where);
  for (NodeId N : Class)
    if (Facts.Graph.facts(N).Where != C.Where)
      Check(Facts.Graph.facts(N).Where);
}

void checkClass(Candidate &C, llvm::ArrayRef<NodeId> Class, const ProgramFacts &Facts) {
  const Flow &Graph = Facts.Graph;
  std::string Shared;
  for (NodeId N : Class)
    if (!Graph.facts(N).Shared.empty())
      Shared = ": " + Graph.facts(N).Shared;
  for (NodeId N : Class) {
    for (const auto &[Member, Unit, R] : Graph.facts(N).CountMembers)
      if (auto At = Facts.MemberWriters.find(Member); At != Facts.MemberWriters.end() && (At->second.size() > 1 || !At->second.count(Unit)))
        C.Refusals.push_back(R);
    for (const Origin &O : Graph.facts(N).Origins)
      C.Refusals.push_back({"", O.Where,
                            O.K == Origin::Host ? "host memory reaches the same pointers (" + O.What + ")" + Shared
                                                : "the pointer comes from " + O.What});
    for (const auto &[Symbol, R] : Graph.facts(N).Needs)
      if (!Graph.isDefined(Symbol))
        C.Refusals.push_back(R);
  }
  if (C.Elements.Count == 1 && !C.Elements.Assumed)
    C.Refusals.push_back({"", C.ArrayWhere, "it is one object and not an array"});
  bool Elsewhere = llvm::any_of(Class, [&](NodeId N) { return Graph.facts(N).Where != Graph.facts(Class.front()).Where; });
  if (C.declared() && Elsewhere && C.Refusals.empty())
    C.Refusals.push_back({"", C.ArrayWhere, "it is declared in device memory, and pointers lead to it from elsewhere"});
  if (!C.declared() && llvm::none_of(C.Calls, allocates))
    C.Refusals.push_back({"", C.ArrayWhere, "no cudaMalloc or cudaMallocManaged of this array is seen"});
  checkSkipped(C, Class, Facts);
  checkComments(C, Class, Facts);
}

static Candidate candidate(llvm::ArrayRef<NodeId> Class, const Flow &Graph) {
  Candidate C;
  unsigned Record = Graph.facts(Class.front()).Record;
  const RecordFacts &Facts = Graph.records()[Record].Facts;
  C.Type = Facts.Type;
  C.Where = Facts.Where;
  C.Refusals = Facts.Refusals;
  C.SizeObserved = Graph.records()[Record].SizeObserved;
  for (const auto &[Symbol, Why] : Graph.records()[Record].SizeUnseen)
    if (!C.SizeObserved && !Graph.isDefined(Symbol))
      C.SizeObserved = Why;
  C.FieldCopyCode = Graph.records()[Record].FieldCopyCode;
  for (NodeId N : Class) {
    const NodeFacts &F = Graph.facts(N);
    if (F.Sites.declared()) {
      C.Lives = F.Sites.Lives;
      C.Symbols = F.Sites.Symbols;
    }
    append(C.Nulls, F.Sites.Nulls);
    append(C.Tests, F.Sites.Tests);
    append(C.MemberNames, F.Sites.MemberNames);
    append(C.OwnerNames, F.Sites.OwnerNames);
    if (C.Owner.empty())
      C.Owner = F.Owns;
    append(C.Respellings, F.Sites.Respellings);
    append(C.Sizes, F.Sites.Sizes);
    append(C.Accesses, F.Sites.Accesses);
    append(C.Aliases, F.Sites.Aliases);
    append(C.Shifts, F.Sites.Shifts);
    append(C.Places, F.Sites.Places);
    append(C.Arguments, F.Sites.Arguments);
    append(C.MemberCalls, F.Sites.MemberCalls);
    append(C.Calls, F.Sites.Calls);
    append(C.Refusals, F.Sites.Refusals);
    for (KernelParameter K : F.Kernels) {
      K.Instance = F.Instance;
      C.Kernels.push_back(std::move(K));
    }
    if (F.Sites.SizeObserved)
      C.SizeObserved = F.Sites.SizeObserved;
    if (F.Sites.Elements.Count > C.Elements.Count)
      C.Elements = F.Sites.Elements;
    bool Allocated = llvm::any_of(F.Sites.Calls, allocates);
    if (C.Array.empty() || (F.Sites.declared() && !Allocated) || (Allocated && C.Elements.Count <= F.Sites.Elements.Count)) {
      C.Array = F.Name;
      C.ArrayWhere = F.Where;
    }
  }
  // Arrays of one record may share a handle type, so they agree on what stays whole.
  for (NodeId N = 0; N < Graph.size(); ++N)
    if (const NodeFacts &F = Graph.facts(N); F.Record == Record) {
      for (const std::vector<std::string> &Path : F.WholeArrays)
        keepWhole(C.Type, Path);
      for (const std::vector<std::string> &Path : F.WholeRecords)
        keepWhole(C.Type, Path, true);
    }
  keepPartsWhole(C, Record, Graph);
  limitLeaves(C.Type);
  for (const Leaf &One : leaves(C.Type))
    if (One.Type.empty())
      C.Refusals.push_back({"", C.Where, "member array '" + One.Path.substr(1) + "' stays in one piece, and its elements' type has no name"});
  addMethods(C, Record, Graph);
  joinCopies(C);
  // What unites them comes first.
  std::stable_partition(C.Refusals.begin(), C.Refusals.end(), [](const Refusal &R) { return !llvm::StringRef(R.Reason).ends_with(OfAnotherType); });
  dropRepeats(C);
  return C;
}

static void spellRecord(Candidate &C, const TrackedRecord &R) {
  C.Spelling = R.Facts.Qualified;
  if (!R.Hidden)
    return;
  if (R.Facts.Kind.empty()) // a typedef's name has no "struct" in front
    C.Refusals.push_back({"", C.Where, "'" + R.Facts.Type.Name + "' is also the name of a variable, which hides the record"});
  C.Spelling = R.Facts.Kind + " " + C.Spelling;
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

/// Declarations with candidates in place of nodes, for every instance.
static void addDeclarations(std::vector<Declaration> Declarations, const Instances &Split, const Flow &Graph,
                            const std::map<NodeId, int> &IndexOf, llvm::ArrayRef<NodeId> Parted, Program &Out) {
  std::map<NodeId, std::vector<NodeId>> CopiesOf;
  for (auto [First, Copy] : Split.Copies)
    CopiesOf[First].push_back(Copy);
  auto Candidate = [&](NodeId N) {
    auto At = IndexOf.find(Graph.root(N));
    return At == IndexOf.end() ? -1 : At->second;
  };
  for (Declaration &D : Declarations) {
    // Every instance of the function, by any of the declaration's nodes.
    std::map<unsigned, Declaration> Of;
    for (const Declarator &One : D.Declarators)
      if (One.Candidate >= 0) {
        Of.try_emplace(Graph.facts(One.Candidate).Instance, D);
        for (NodeId Copy : CopiesOf[One.Candidate])
          Of.try_emplace(Graph.facts(Copy).Instance, D);
      }
    for (auto &[Id, Here] : Of) {
      Here.Instance = Id;
      bool Any = false;
      for (Declarator &One : Here.Declarators) {
        if (One.Candidate < 0)
          continue;
        NodeId Node = One.Candidate;
        if (auto At = llvm::find(Parted, Node); At != Parted.end()) {
          One.Member = At - Parted.begin();
          One.Candidate = -1;
          Any |= llvm::any_of(Out.Members[One.Member].Candidates, [](int C) { return C >= 0; });
          continue;
        }
        for (NodeId Copy : CopiesOf[One.Candidate])
          if (Graph.facts(Copy).Instance == Id)
            Node = Copy;
        One.Candidate = Candidate(Node);
        // A pointer that became an index is declared by its alias.
        if (One.Candidate >= 0 && llvm::any_of(Out.Candidates[One.Candidate].Aliases, [&](const Alias &A) { return A.Declaration.contains(One.Name); })) {
          if (Here.Declarators.size() > 1)
            Out.Candidates[One.Candidate].Refusals.push_back(
                {"", Out.Candidates[One.Candidate].ArrayWhere, "an element pointer is declared together with others"});
          One.Candidate = -1;
        }
        Any |= One.Candidate >= 0;
      }
      if (Any)
        Out.Declarations.push_back(std::move(Here));
    }
  }
}

bool respelledIn(const Candidate &C, const FunctionInstances &F) {
  return llvm::any_of(C.Respellings, [&](const Respelling &R) { return llvm::is_contained(F.Instances, R.Instance); });
}

/// What is written for a record alone must see the record wherever its file is read, and have a name.
static void checkPlace(const FunctionInstances &F, const ProgramFacts &Facts, Program &Out) {
  for (Candidate &C : Out.Candidates) {
    if (!respelledIn(C, F))
      continue;
    if (Facts.Identifiers.count(F.Made->NewName))
      C.Refusals.push_back({"", C.ArrayWhere, "'" + F.Name + "' is a template that would be written as '" + F.Made->NewName + "' for this record, and that name is taken"});
    const unsigned Record = Out.Text.at(C.HelperAt).Text.Begin;
    for (const Range &R : F.Texts)
      if (unsigned Template = Out.Text.at(R.Begin).Text.Begin; Template != Record && !Facts.MainFiles.count(F.Made->Behind ? Record : Template))
        C.Refusals.push_back({"", C.ArrayWhere, "'" + F.Name + "' is a template in another header than this record, and neither needs the other"});
  }
}

/// An array whose allocation is shared by some of several sizes is as large as what the launches pass.
static void sizeByLaunches(Program &P) {
  for (Candidate &C : P.Candidates) {
    if (C.declared() || C.Elements.Count > 0)
      continue;
    for (const Launch &L : P.Launches)
      for (const KernelParameter &K : C.Kernels)
        if (K.Kernel == L.Kernel && K.Position && !K.Struct && *K.Position < L.Extents.size())
          if (const Extent &E = L.Extents[*K.Position]; E.ElementBytes && double(E.Bytes) / double(E.ElementBytes) > C.Elements.Count)
            C.Elements = {double(E.Bytes) / double(E.ElementBytes), true};
  }
}

Program assemble(ProgramFacts Facts) {
  Flow &Graph = Facts.Graph;
  Program Out;
  mergeObjects(Graph);
  indexParameters(Graph, Facts.Declarations, Facts.Text);
  Instances Split = instantiate(Graph);
  std::vector<NodeId> Parted = partedMembers(Graph);

  std::map<NodeId, std::vector<NodeId>> Classes;
  for (NodeId N = 0; N < Graph.size(); ++N)
    Classes[Graph.root(N)].push_back(N);
  std::map<NodeId, int> IndexOf; // by class
  std::vector<const std::vector<NodeId> *> ClassOf;
  for (const auto &[Root, Class] : Classes) {
    bool OnDevice = llvm::any_of(Class, [&](NodeId N) { return !Graph.facts(N).Kernels.empty(); });
    if (!OnDevice || isGenerated(Class, Facts) || isIdle(Class, Graph))
      continue;
    IndexOf[Root] = Out.Candidates.size();
    Candidate C = candidate(Class, Graph);
    checkClass(C, Class, Facts);
    Out.Candidates.push_back(std::move(C));
    ClassOf.push_back(&Class);
  }
  addMembers(Parted, IndexOf, Facts, Out);
  addDeclarations(std::move(Facts.Declarations), Split, Graph, IndexOf, Parted, Out);
  Out.Text = Facts.Text;
  std::map<unsigned, std::vector<size_t>> ByRecord;
  for (size_t I = 0; I < Out.Candidates.size(); ++I) {
    Candidate &C = Out.Candidates[I];
    const TrackedRecord &R = Graph.records()[Graph.facts(ClassOf[I]->front()).Record];
    spellRecord(C, R);
    C.FriendAt = R.Facts.FriendAt;
    if (C.Type.Private && !C.FriendAt)
      C.Refusals.push_back({"", C.Where, "it has private fields, and its file cannot be changed"});
    for (const HostCall &H : C.Calls)
      if (Facts.HostFiles.count(Out.Text.at(H.Callee.Begin).Text.Begin))
        C.Refusals.push_back({"", H.Where, "what takes this call's place needs CUDA's compiler, and this is a file of plain C++"});
    ByRecord[Graph.facts(ClassOf[I]->front()).Record].push_back(I);
  }
  for (const auto &[Record, Candidates] : ByRecord)
    placeGeneratedCode(Out, Candidates, Facts, Graph.records()[Record].Facts);
  nameCandidates(Out.Candidates);
  // Functions that only the host's arrays reach several times stay as they are.
  for (FunctionInstances &F : Split.Functions)
    if (F.Made || llvm::any_of(Out.Declarations, [&](const Declaration &D) { return llvm::is_contained(F.Instances, D.Instance); }))
      Out.Functions.push_back(std::move(F));
  // Those that go to one place behind a record keep their order there.
  llvm::stable_sort(Out.Functions, [](const FunctionInstances &A, const FunctionInstances &B) { return A.Texts < B.Texts; });
  for (const FunctionInstances &F : Out.Functions)
    if (F.Made)
      checkPlace(F, Facts, Out);
  Out.HostUnits = Facts.HostUnits;
  Out.Launches = joinLaunches(std::move(Facts.Launches), [&](const LaunchSite &S) {
    for (const InstanceCall &C : Split.Calls)
      if (C.Callee == S.Kernel && C.Call == S.Call)
        return C.Instance;
    return 0u;
  });
  sizeByLaunches(Out);
  Out.Identifiers.assign(Facts.Identifiers.begin(), Facts.Identifiers.end());
  return Out;
}

} // namespace restride
