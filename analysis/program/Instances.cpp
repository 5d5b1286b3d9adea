#include "analysis/program/Instances.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace restride {

/// More ways to call a function than these are seen as one.
static constexpr size_t MaxInstances = 6;

namespace {

/// Node of a function's first instance to its node in another.
using NodeMap = std::map<NodeId, NodeId>;

struct Instance {
  unsigned Id = 0;
  NodeMap Nodes; ///< empty for the first
  NodeId operator()(NodeId N) const {
    auto At = Nodes.find(N);
    return At == Nodes.end() ? N : At->second;
  }
};

/// One call of the function at hand.
struct Call {
  Place At;
  std::vector<std::pair<NodeId, NodeId>> Bound;   ///< outside, inside; arguments
  std::vector<std::pair<NodeId, NodeId>> Results; ///< likewise
};

/// Calls that give the same arrays: by parameter, the class of its argument.
struct Group {
  std::map<NodeId, NodeId> Arrays;
  std::vector<const Call *> Calls;
};

Range placeOf(const NullValue &S) { return S.Whole; }
Range placeOf(const PointerTest &S) { return S.Pointer; }
Range placeOf(const SizeOf &S) { return S.Operand; }
Range placeOf(const Alias &S) { return S.Declaration; }
Range placeOf(const HostCall &S) { return S.Callee; }
Range placeOf(const Respelling &S) { return S.Where; }
template <typename SiteT> Range placeOf(const SiteT &S) { return S.Whole; }

class Instancer {
public:
  explicit Instancer(Flow &Graph) : Graph(Graph), Unions(Graph.unions().begin(), Graph.unions().end()) {
    for (const Binding &B : Graph.bindings()) {
      Waiting.insert(B.Callee);
      Waiting.insert(B.Caller);
    }
    for (const auto &[Name, Function] : Graph.functions())
      if (Function.ForRecord)
        Waiting.insert(Name);
    for (NodeId N = 0; N < Graph.size(); ++N)
      if (!Graph.facts(N).Owner.empty())
        Owned[Graph.facts(N).Owner].push_back(N);
  }

  Instances run() {
    while (!Waiting.empty()) {
      auto Ready = llvm::find_if(Waiting, [&](const std::string &F) { return !waitsForCallers(F); });
      bool Recursive = Ready == Waiting.end();
      std::string F = Recursive ? *Waiting.begin() : *Ready;
      Waiting.erase(F);
      process(F, Recursive);
    }
    for (NodeId N = 0; N < Graph.size(); ++N)
      if (Graph.facts(N).Instance)
        forSites(Graph.facts(N), [&](auto &S) {
          if (!isWrittenAgain(placeOf(S)))
            S.Instance = 0;
        });
    return std::move(Out);
  }

private:
  bool waitsForCallers(const std::string &F) const {
    return llvm::any_of(Graph.bindings(), [&](const Binding &B) { return B.Callee == F && B.Caller != F && Waiting.count(B.Caller); });
  }

  bool isClass(const std::string &F) const {
    auto Facts = Graph.functions().find(F);
    return Facts != Graph.functions().end() && Facts->second.Class;
  }

  std::vector<Call> callsOf(const std::string &F) {
    std::map<std::tuple<Place, std::string, unsigned>, Call> Found;
    for (const Binding &B : Graph.bindings()) {
      if (B.Callee != F || B.Caller == F)
        continue;
      std::vector<Instance> &Callers = Of[B.Caller];
      if (Callers.empty())
        Callers.emplace_back();
      for (const Instance &I : Callers) {
        Call &C = Found[{B.Call, B.Caller, I.Id}];
        C.At = B.Call;
        (B.Result ? C.Results : C.Bound).push_back({I(B.Outside), B.Inside});
      }
    }
    std::vector<Call> Calls;
    for (auto &[Key, C] : Found)
      Calls.push_back(std::move(C));
    return Calls;
  }

  /// \p Together: all of them, as of a class, whose members are one for all its objects.
  std::vector<Group> groups(const std::vector<Call> &Calls, bool Together) {
    std::vector<Group> Groups;
    for (const Call &C : Calls) {
      std::map<NodeId, NodeId> Arrays;
      for (auto [Outside, Inside] : C.Bound) {
        if (Graph.facts(Outside).Null) // goes with any array
          continue;
        auto [At, New] = Arrays.try_emplace(Graph.root(Inside), Outside);
        if (!New) // both reach the same parameter
          Graph.unite(At->second, Outside);
      }
      for (auto &[Inside, Outside] : Arrays)
        Outside = Graph.root(Outside);
      auto Same = llvm::find_if(Groups, [&](const Group &G) {
        return llvm::all_of(Arrays, [&](const auto &A) {
          auto At = G.Arrays.find(A.first);
          return At == G.Arrays.end() || At->second == A.second;
        });
      });
      if (Same == Groups.end() && !Groups.empty() && Together)
        Same = Groups.begin();
      if (Same == Groups.end())
        Same = Groups.insert(Groups.end(), Group());
      Same->Arrays.insert(Arrays.begin(), Arrays.end());
      Same->Calls.push_back(&C);
    }
    return Groups;
  }

  /// step(a, b) and step(b, a): buffers that change places are one array.
  bool joinPermutations(const std::vector<Group> &Groups) {
    auto Arrays = [](const Group &G) {
      std::set<NodeId> Set;
      for (const auto &[Inside, Outside] : G.Arrays)
        Set.insert(Outside);
      return Set;
    };
    for (size_t I = 0; I < Groups.size(); ++I)
      for (size_t J = I + 1; J < Groups.size(); ++J)
        if (std::set<NodeId> A = Arrays(Groups[I]); A.size() > 1 && A == Arrays(Groups[J])) {
          for (NodeId N : A)
            Graph.unite(*A.begin(), N);
          return true;
        }
    return false;
  }

  /// Members of a class are used outside of it too, in code that stays one.
  bool isWrittenAgain(Range Site) const {
    return llvm::any_of(Out.Functions, [&](const FunctionInstances &F) {
      return llvm::any_of(F.Texts, [&](const Range &Text) { return Text.contains(Site); });
    });
  }

  template <typename FnT> static void forSites(NodeFacts &F, FnT Fn) {
    auto All = [&](auto &Sites) {
      for (auto &S : Sites)
        Fn(S);
    };
    All(F.Sites.Nulls), All(F.Sites.Tests), All(F.Sites.OwnerNames), All(F.Sites.Sizes), All(F.Sites.Accesses), All(F.Sites.Aliases);
    All(F.Sites.Shifts), All(F.Sites.Places), All(F.Sites.Arguments), All(F.Sites.MemberCalls), All(F.Sites.Calls), All(F.Sites.Respellings);
  }

  static void label(NodeFacts &F, unsigned Id) {
    F.Instance = Id;
    forSites(F, [Id](auto &S) { S.Instance = Id; });
  }

  Instance another(const std::string &F) {
    Instance I{++LastId, {}};
    for (NodeId N : Owned[F]) {
      NodeId New = Graph.copy(N);
      label(Graph.facts(New), I.Id);
      I.Nodes[N] = New;
      Out.Copies.push_back({N, New});
    }
    for (auto [A, B] : Unions)
      if (I.Nodes.count(A) || I.Nodes.count(B))
        Graph.unite(I(A), I(B));
    // Two versions that differ in their bodies alone could not be told apart.
    std::set<NodeId> FromCaller;
    for (NodeId N : Owned[F])
      if (!Graph.facts(N).Slot.empty())
        FromCaller.insert(Graph.root(N));
    for (NodeId N : Owned[F])
      if (!FromCaller.count(Graph.root(N)))
        Graph.unite(N, I(N));
    return I;
  }

  void bind(const Group &G, const Instance &I, const std::string &F) {
    for (const Call *C : G.Calls) {
      for (auto [Outside, Inside] : C->Bound)
        Graph.unite(Outside, I(Inside));
      for (auto [Outside, Inside] : C->Results)
        Graph.unite(Outside, I(Inside));
      Out.Calls.push_back({C->At, F, I.Id});
    }
  }

  /// Every level of a recursion has the handle on its stack.
  void checkRecursion(const std::string &F, bool Recursive) {
    if (isClass(F))
      return;
    for (const Binding &B : Graph.bindings())
      if (B.Callee == F && !B.Result && (B.Caller == F || Recursive)) {
        NodeFacts &Inside = Graph.facts(B.Inside);
        Inside.Sites.Refusals.push_back({"soa", Inside.Where, "'" + Inside.Function + "' calls itself, and its stack would grow by a struct of pointers a call"});
      }
  }

  /// Why \p F, a function or class made from a template over records, cannot be written for them alone; empty if it can.
  std::string objection(const std::string &F, const FunctionFacts &Facts, bool Recursive, size_t Groups) const {
    if (!Facts.ForRecord->Objection.empty() || !Facts.Fixed.empty())
      return Facts.ForRecord->Objection.empty() ? Facts.Fixed : Facts.ForRecord->Objection;
    if (Recursive)
      return "calls itself through others";
    if (Groups > MaxInstances)
      return "is called with too many arrays";
    const bool Renamed = saysRecord(F);
    for (const Binding &B : Graph.bindings())
      if (B.Callee == F && (B.OfTemplate.Unclear || (Renamed && !B.OfTemplate.Name)))
        return "is called by a macro's body, or as a member with its record's name";
    return "";
  }

  bool saysRecord(const std::string &F) const {
    return llvm::any_of(Graph.bindings(), [&](const Binding &B) { return B.Callee == F && !B.OfTemplate.Records.empty(); });
  }

  /// What its text needs goes with every array that the function has to do with.
  void respell(const std::string &F, const RecordTemplate &Made) {
    std::vector<Respelling> Edits = Made.Edits;
    for (const Range &R : Made.Unused)
      Edits.push_back({R, ";"});
    if (saysRecord(F))
      for (const Range &Name : Made.Names)
        Edits.push_back({Name, Made.How.NewName});
    for (NodeId N : Owned[F])
      llvm::append_range(Graph.facts(N).Sites.Respellings, Edits);
  }

  /// Calls that say the record call the function by its new name; \p F and its callers have their instances.
  void respellCalls(const std::string &F, const RecordTemplate &Made) {
    if (!saysRecord(F))
      return;
    for (const Binding &B : Graph.bindings())
      if (B.Callee == F)
        for (const Instance &I : Of[B.Caller]) {
          std::vector<Respelling> &Out = Graph.facts(I(B.Outside)).Sites.Respellings;
          Out.push_back({*B.OfTemplate.Name, Made.How.NewName, I.Id});
          for (const Range &R : B.OfTemplate.Records)
            Out.push_back({R, "", I.Id});
        }
  }

  void process(const std::string &F, bool Recursive) {
    checkRecursion(F, Recursive);
    std::vector<Call> Calls = callsOf(F);
    std::vector<Group> Groups = groups(Calls, isClass(F));
    while (Groups.size() > 1 && joinPermutations(Groups))
      Groups = groups(Calls, isClass(F));
    auto Facts = Graph.functions().find(F);
    bool Once = Facts == Graph.functions().end() || !Facts->second.Fixed.empty() || Facts->second.Texts.empty() || Recursive;
    std::vector<Instance> &Mine = Of[F];
    const RecordTemplate *Made = Facts != Graph.functions().end() && Facts->second.ForRecord ? &*Facts->second.ForRecord : nullptr;
    std::string Why = Made ? objection(F, Facts->second, Recursive, Groups.size()) : "";
    if (!Why.empty()) {
      for (NodeId N : Owned[F])
        Graph.facts(N).Sites.Refusals.push_back({"", Graph.facts(N).Where, "'" + Facts->second.Name + "' is a template that " + Why + ", so it is not written for this record alone"});
      Made = nullptr;
    }
    if (Made) {
      respell(F, *Made);
      if (Groups.empty())
        Groups.emplace_back();
    }
    if ((Groups.size() < 2 && !Made) || Groups.size() > MaxInstances || Once) {
      Mine.emplace_back();
      if (Groups.size() > 1 && Facts != Graph.functions().end() && !Facts->second.Fixed.empty())
        for (const auto &[Inside, Outside] : Groups.front().Arrays)
          Graph.facts(Inside).Shared = "'" + Facts->second.Name + "' " + Facts->second.Fixed + " and cannot be written twice";
      for (const Group &G : Groups)
        bind(G, Mine[0], F);
    } else {
      FunctionInstances Written{Facts->second.Name, Facts->second.Texts, {}};
      if (Made) { // for everything else it stays as it is
        Written.Made = Made->How;
        if (!saysRecord(F))
          Written.Made->NewName.clear();
        Written.Instances.push_back(++LastId);
      }
      for (size_t G = 0; G < Groups.size(); ++G) {
        if (G == 0) {
          Mine.push_back({++LastId, {}});
        } else {
          Mine.push_back(another(F));
        }
        Written.Instances.push_back(Mine.back().Id);
      }
      for (NodeId N : Owned[F])
        label(Graph.facts(N), Mine[0].Id);
      for (size_t G = 0; G < Groups.size(); ++G)
        bind(Groups[G], Mine[G], F);
      Out.Functions.push_back(std::move(Written));
    }
    if (Made)
      respellCalls(F, *Made);
    // Its calls of itself, and of functions in the same circle that came first.
    for (const Binding &B : Graph.bindings())
      if (B.Caller == F && (B.Callee == F || !Waiting.count(B.Callee)))
        for (const Instance &I : Mine)
          Graph.unite(I(B.Outside), B.Callee == F ? I(B.Inside) : B.Inside);
  }

  Flow &Graph;
  std::vector<std::pair<NodeId, NodeId>> Unions; ///< those that the source says
  std::map<std::string, std::vector<NodeId>> Owned;
  std::set<std::string> Waiting;
  std::map<std::string, std::vector<Instance>> Of;
  unsigned LastId = 0;
  Instances Out;
};

} // namespace

Instances instantiate(Flow &Graph) { return Instancer(Graph).run(); }

} // namespace restride
