#include "analysis/program/Methods.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace restride {

using Path = std::vector<std::string>;

static Path operator+(Path A, const Path &B) {
  A.insert(A.end(), B.begin(), B.end());
  return A;
}

static Path names(const MemberCall &C) {
  Path Out;
  for (const Step &S : C.Path)
    Out.push_back(S.Member);
  return Out;
}

/// Why the function \p Node of a nested record, or one that it calls on its
/// object, cannot be written again.
static bool isFixed(NodeId Node, const Flow &Graph, std::vector<NodeId> Callers = {}) {
  const Method &M = *Graph.facts(Node).Body;
  if (!M.Refusals.empty() || M.NeedsFriend || llvm::is_contained(Callers, Node))
    return true;
  Callers.push_back(Node);
  return llvm::any_of(M.Calls, [&](const MemberCall &C) { return C.Path.empty() && NodeId(C.Method) != Node && isFixed(C.Method, Graph, Callers); });
}

/// \p Calls in a function whose object is what \p Prefix leads to.
static void keepParts(Record &R, const std::vector<MemberCall> &Calls, const Path &Prefix, const Flow &Graph,
                      std::set<std::pair<Path, NodeId>> &Seen) {
  for (const MemberCall &C : Calls) {
    Path Here = Prefix + names(C);
    bool InArray = llvm::any_of(C.Path, [](const Step &S) { return !S.Subscripts.empty(); });
    if (!Here.empty() && (InArray || isFixed(C.Method, Graph))) {
      keepWhole(R, Here);
      continue;
    }
    if (!Seen.insert({Here, C.Method}).second)
      continue;
    for (const Path &Whole : Graph.facts(C.Method).WholeArrays)
      keepWhole(R, Here + Whole);
    keepParts(R, Graph.facts(C.Method).Body->Calls, Here, Graph, Seen);
  }
}

void keepPartsWhole(Candidate &C, unsigned Record, const Flow &Graph) {
  std::set<std::pair<Path, NodeId>> Seen;
  for (NodeId N = 0; N < Graph.size(); ++N)
    if (Graph.facts(N).Record == Record)
      keepParts(C.Type, Graph.facts(N).Sites.MemberCalls, {}, Graph, Seen);
}

namespace {

/// Collects and renumbers.
class Collector {
public:
  Collector(Candidate &C, const Flow &Graph) : C(C), Graph(Graph) {}

  void renumber(std::vector<MemberCall> &Calls) {
    for (MemberCall &Call : Calls)
      Call.Method = indexOf(Call.Method);
  }

private:
  int indexOf(NodeId Node) {
    auto [At, New] = Indices.try_emplace(Node, C.Methods.size());
    int Index = At->second;
    if (!New)
      return Index;
    C.Methods.push_back(*Graph.facts(Node).Body);
    std::vector<MemberCall> Calls = C.Methods[Index].Calls;
    renumber(Calls);
    C.Methods[Index].Calls = std::move(Calls);
    return Index;
  }

  Candidate &C;
  const Flow &Graph;
  std::map<NodeId, int> Indices;
};

/// Member functions that call each other in a circle would have to be declared first.
class Circles {
public:
  explicit Circles(std::vector<Method> &Methods) : Methods(Methods) {}
  void check(int I) {
    if (llvm::is_contained(Callers, I))
      Methods[I].Refusals.push_back({"", Methods[I].Where, "member functions that work on an element in place call each other in a circle"});
    if (!Methods[I].Refusals.empty() || !Seen.insert(I).second)
      return;
    Callers.push_back(I);
    for (const MemberCall &C : Methods[I].Calls)
      if (C.Method != I)
        check(C.Method);
    Callers.pop_back();
  }

private:
  std::vector<Method> &Methods;
  std::vector<int> Callers;
  std::set<int> Seen;
};

} // namespace

/// Names of other functions that stand beside.
static bool isHelperName(llvm::StringRef Name) {
  static constexpr llvm::StringRef Names[] = {"load", "store", "at", "free", "scatter", "gather", "copy", "fill"};
  return llvm::is_contained(Names, Name) || Name.starts_with("store_") || Name.starts_with("malloc") || Name.starts_with("mem");
}

static void nameMethods(std::vector<Method> &Methods) {
  for (Method &M : Methods)
    if (isHelperName(M.Name))
      M.Name += "_element";
  for (size_t I = 0; I < Methods.size(); ++I)
    for (size_t J = I + 1; J < Methods.size(); ++J)
      if (Methods[I].Class == Methods[J].Class && Methods[I].Name == Methods[J].Name && Methods[I].Types == Methods[J].Types)
        Methods[J].Name += Methods[J].Const ? "_const" : "2";
}

void addMethods(Candidate &C, unsigned Record, const Flow &Graph) {
  Collector Methods(C, Graph);
  for (NodeId N = 0; N < Graph.size(); ++N)
    if (Graph.facts(N).Record == Record) {
      std::vector<MemberCall> Calls = Graph.facts(N).Sites.MemberCalls;
      Methods.renumber(Calls);
    }
  Methods.renumber(C.MemberCalls);
  nameMethods(C.Methods);
  for (size_t I = 0; I < C.Methods.size(); ++I)
    Circles(C.Methods).check(I);
  for (Method &M : C.Methods) {
    if (M.NeedsFriend && !C.Type.Private)
      M.Refusals.push_back({"", M.Where, "'" + M.Name + "' works on an element in place, and uses a member that is not public"});
    // In a class their names would find the generated functions.
    for (const std::string &Name : M.Callees)
      if (C.Type.Private && (isHelperName(Name) || llvm::any_of(C.Methods, [&](const Method &O) { return O.Name == Name; })))
        M.Refusals.push_back({"", M.Where, "'" + M.Name + "' works on an element in place, and calls another function named '" + Name + "'"});
  }
}

} // namespace restride
