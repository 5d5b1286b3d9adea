#include "analysis/program/ParallelArrays.h"
#include "analysis/program/Assemble.h"
#include "analysis/program/MergeSites.h"

#include "llvm/ADT/STLExtras.h"

namespace restride {

template <typename T> static void append(std::vector<T> &To, const std::vector<T> &From) { To.insert(To.end(), From.begin(), From.end()); }

static void addSites(Candidate &To, const Candidate &From) {
  append(To.Mentions, From.Mentions);
  append(To.Nulls, From.Nulls);
  append(To.Tests, From.Tests);
  append(To.Sizes, From.Sizes);
  append(To.Accesses, From.Accesses);
  append(To.Aliases, From.Aliases);
  append(To.Shifts, From.Shifts);
  append(To.Arguments, From.Arguments);
  append(To.Calls, From.Calls);
  append(To.Refusals, From.Refusals);
}

static bool allocates(const HostCall &H) { return H.What <= HostCall::MallocAsync; }

static Candidate array(llvm::ArrayRef<NodeId> Class, const Flow &Graph) {
  Candidate C;
  const TrackedRecord &R = Graph.records()[Graph.facts(Class.front()).Record];
  C.Type = R.Facts.Type;
  for (NodeId N : Class) {
    const NodeFacts &F = Graph.facts(N);
    addSites(C, F.Sites);
    append(C.Kernels, F.Kernels);
    if (F.Sites.Elements.Count > C.Elements.Count)
      C.Elements = F.Sites.Elements;
    if (C.Array.empty() || llvm::any_of(F.Sites.Calls, allocates)) {
      C.Array = F.Name;
      C.ArrayWhere = C.Where = F.Where;
    }
  }
  C.Name = C.Array;
  joinCopies(C);
  dropRepeats(C);
  return C;
}

ArrayProgram assembleArrays(ProgramFacts Facts) {
  Flow &Graph = Facts.Graph;
  for (const Binding &B : Graph.bindings())
    Graph.unite(B.Outside, B.Inside);
  std::map<NodeId, std::vector<NodeId>> Classes;
  for (NodeId N = 0; N < Graph.size(); ++N)
    Classes[Graph.root(N)].push_back(N);
  ArrayProgram Out;
  std::map<NodeId, int> IndexOf; // by class
  for (const auto &[Root, Class] : Classes) {
    bool OnDevice = llvm::any_of(Class, [&](NodeId N) { return !Graph.facts(N).Kernels.empty(); });
    bool Allocated = llvm::any_of(Class, [&](NodeId N) { return llvm::any_of(Graph.facts(N).Sites.Calls, allocates); });
    if (!OnDevice || !Allocated)
      continue;
    IndexOf[Root] = Out.P.Candidates.size();
    Candidate C = array(Class, Graph);
    checkClass(C, Class, Facts);
    for (NodeId N : Class) {
      const NodeFacts &F = Graph.facts(N);
      ArrayVariable V{Out.P.Candidates.size(), F.Name, F.Owner.empty() ? F.Class : F.Owner, !F.Owner.empty(), F.Slot, !F.Kernels.empty(), F.Declared, F.Null, F.Where, F.Sites};
      joinCopies(V.Sites);
      dropRepeats(V.Sites);
      Out.Variables.push_back(std::move(V));
    }
    Out.P.Candidates.push_back(std::move(C));
  }
  for (Declaration &D : Facts.Declarations) {
    bool Any = false;
    for (Declarator &One : D.Declarators)
      if (One.Candidate >= 0) {
        auto At = IndexOf.find(Graph.root(One.Candidate));
        One.Candidate = At == IndexOf.end() ? -1 : At->second;
        Any |= One.Candidate >= 0;
      }
    if (Any)
      Out.P.Declarations.push_back(std::move(D));
  }
  Out.P.Text = Facts.Text;
  Out.P.HostUnits = Facts.HostUnits;
  Out.P.Launches = joinLaunches(std::move(Facts.Launches), [](const LaunchSite &) { return 0u; });
  Out.P.Identifiers.assign(Facts.Identifiers.begin(), Facts.Identifiers.end());
  Out.TopLevel = Facts.TopLevel;
  Out.MainFiles = Facts.MainFiles;
  return Out;
}

} // namespace restride
