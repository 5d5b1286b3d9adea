#include "analysis/program/Members.h"

#include "llvm/ADT/STLExtras.h"

namespace restride {

void mergeObjects(Flow &Graph) {
  for (const auto &[Type, H] : Graph.holders())
    if (!H.Followed)
      for (const auto &[Member, Objects] : H.Members)
        for (NodeId N : Objects)
          Graph.unite(Member, N);
}

static bool isNamed(const NodeFacts &F) { return !F.Sites.MemberNames.empty(); }

std::vector<NodeId> partedMembers(Flow &Graph) {
  std::set<NodeId> Named, OnDevice;
  for (NodeId N = 0; N < Graph.size(); ++N) {
    if (isNamed(Graph.facts(N)))
      Named.insert(Graph.root(N));
    if (!Graph.facts(N).Kernels.empty())
      OnDevice.insert(Graph.root(N));
  }
  std::vector<NodeId> Parted;
  std::vector<std::pair<NodeId, NodeId>> Same; // united when all is decided, as that changes roots
  for (const auto &[Type, H] : Graph.holders())
    for (const auto &[Member, Objects] : H.Members) {
      std::set<NodeId> Classes;
      for (NodeId N : Objects)
        if (Named.count(Graph.root(N)))
          Classes.insert(Graph.root(N));
      if (Classes.size() > 1) {
        Parted.push_back(Member);
        continue;
      }
      // What only the host names is no matter of the kernels that get it.
      if (H.Followed && (Classes.empty() || !OnDevice.count(*Classes.begin())))
        continue;
      for (NodeId N : Objects)
        Same.push_back({Member, N});
    }
  for (auto [Member, N] : Same)
    Graph.unite(Member, N);
  return Parted;
}

bool isIdle(llvm::ArrayRef<NodeId> Class, const Flow &Graph) {
  std::set<NodeId> OfObjects;
  for (const auto &[Type, H] : Graph.holders())
    if (H.Followed)
      for (const auto &[Member, Objects] : H.Members) {
        OfObjects.insert(Member);
        OfObjects.insert(Objects.begin(), Objects.end());
      }
  return llvm::all_of(Class, [&](NodeId N) { return OfObjects.count(N) && !isNamed(Graph.facts(N)); });
}

/// Where a member beside \p Node can stand.
static unsigned placeBeside(NodeId Node, const Holder &H, const ProgramFacts &Facts) {
  if (H.Positional)
    return H.End;
  for (const Declaration &D : Facts.Declarations)
    if (llvm::any_of(D.Declarators, [&](const Declarator &One) { return One.Candidate == int(Node); }))
      return D.End;
  return 0;
}

/// Behind a comment that ends the line.
static unsigned endOfLine(unsigned At, llvm::StringRef Text) {
  llvm::StringRef Rest = Text.substr(At).take_until([](char C) { return C == '\n'; }).rtrim("\r");
  bool Ends = Rest.trim().empty() || (Rest.ltrim().starts_with("//") && !Rest.ends_with("\\"));
  return Ends ? At + Rest.size() : At;
}

void addMembers(llvm::ArrayRef<NodeId> Parted, const std::map<NodeId, int> &IndexOf, const ProgramFacts &Facts, Program &Out) {
  const Flow &Graph = Facts.Graph;
  std::map<int, int> Index; // of a node in Out.Members
  for (const auto &[Type, H] : Graph.holders())
    for (const auto &[Node, Objects] : H.Members) {
      if (!llvm::is_contained(Parted, Node))
        continue;
      const NodeFacts &F = Graph.facts(Node);
      std::set<int> Candidates;
      for (NodeId N : Objects) {
        auto At = IndexOf.find(Graph.root(N));
        Candidates.insert(At == IndexOf.end() ? -1 : At->second);
      }
      unsigned After = placeBeside(Node, H, Facts);
      for (int C : Candidates)
        if (C >= 0) {
          std::vector<Refusal> &Refusals = Out.Candidates[C].Refusals;
          llvm::append_range(Refusals, F.Sites.Refusals);
          if (!After)
            Refusals.push_back({"", F.Where, "only some objects' '" + F.Name + "' can move, and there is no place for a member beside it"});
        }
      Index[Node] = Out.Members.size();
      Out.Members.push_back({F.Name, {Candidates.begin(), Candidates.end()}, After ? endOfLine(After, Facts.Text.text()) : 0});
    }
  for (Candidate &C : Out.Candidates)
    for (MemberName &M : C.MemberNames) {
      auto At = Index.find(M.Member);
      M.Member = At == Index.end() ? -1 : At->second;
      if (M.Member < 0 || M.Name)
        continue;
      std::string Name = "'" + Out.Members[M.Member].Name + "'";
      C.Refusals.push_back({"", M.Where, Name + " is named by a macro's body or an initialiser list, and only some objects' " + Name + " can move"});
    }
}

} // namespace restride
