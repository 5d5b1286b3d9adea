// Which arrays of numbers could be one array of records.

#include "analysis/program/ParallelArrays.h"

#include "llvm/ADT/STLExtras.h"

namespace restride {

static constexpr size_t MaxFields = 16, MaxGroups = 12;

static const HostCall *allocation(const Candidate &C) {
  const HostCall *Out = nullptr;
  for (const HostCall &H : C.Calls)
    if (H.What <= HostCall::MallocAsync) {
      if (Out)
        return nullptr;
      Out = &H;
    }
  return Out;
}

static bool isPlain(const Element &E) { return E.At.Terms.empty() && E.BaseName.empty(); }

/// Every use of the array would be one of a field.
static bool canBeField(const Candidate &C) {
  const HostCall *Made = allocation(C);
  if (C.refused() || C.OtherConfiguration || !Made || Made->What == HostCall::MallocAsync || !Made->Block || !Made->Whole || !Made->Count ||
      Made->Elements.empty() || !C.Tests.empty() || !C.Aliases.empty() || !C.Shifts.empty() || C.Accesses.empty())
    return false;
  for (const Argument &A : C.Arguments)
    if (!A.Whole.End || !isPlain(A.What) || A.ByReference)
      return false;
  for (const HostCall &H : C.Calls)
    if (!H.Whole || !H.Block || H.What == HostCall::FreeAsync || H.Pointers.size() != 1)
      return false;
  return true;
}

static std::string indexText(const Access &A, const Sources &Text) {
  std::string Out;
  for (const IndexTerm &T : A.What.At.Terms) {
    Out += T.Negative ? '-' : '+';
    for (char C : Text.text(T.Source))
      if (!isspace(C))
        Out += C;
  }
  return Out;
}

namespace {

/// How device code uses an array: the functions, with the indices there.
struct Usage {
  std::set<std::string> Functions, Written;
  std::set<std::pair<std::string, std::string>> Indices;
};

class Grouper {
public:
  explicit Grouper(const ArrayProgram &A) : A(A), Use(A.P.Candidates.size()) {
    for (const ArrayVariable &V : A.Variables)
      for (const Access &One : V.Sites.Accesses) {
        Use[V.Array].Functions.insert(V.Scope);
        Use[V.Array].Indices.insert({V.Scope, indexText(One, A.P.Text)});
        if (One.Written)
          Use[V.Array].Written.insert(V.Scope);
      }
  }

  std::vector<ParallelGroup> run() {
    std::map<std::tuple<Range, std::string, HostCall::Api>, std::vector<size_t>> Alike;
    for (size_t I = 0; I < A.P.Candidates.size(); ++I)
      if (canBeField(A.P.Candidates[I])) {
        const HostCall &Made = *allocation(A.P.Candidates[I]);
        Alike[{*Made.Block, Made.Elements, Made.What}].push_back(I);
      }
    for (const auto &[Key, Arrays] : Alike) {
      sameIndices(Arrays);
      connected(Arrays);
      inputs(Arrays);
      if (Arrays.size() <= 4)
        propose(Arrays);
    }
    return std::move(Out);
  }

private:
  void propose(std::vector<size_t> Arrays) {
    if (Arrays.size() < 2 || Arrays.size() > MaxFields || Out.size() >= MaxGroups || !separable(Arrays))
      return;
    llvm::sort(Arrays, [&](size_t L, size_t R) { return allocation(A.P.Candidates[L])->Callee < allocation(A.P.Candidates[R])->Callee; });
    if (llvm::none_of(Out, [&](const ParallelGroup &G) { return G.Arrays == Arrays; }))
      Out.push_back({std::move(Arrays)});
  }

  /// Arrays that every function indexes alike.
  void sameIndices(llvm::ArrayRef<size_t> Arrays) {
    std::map<std::set<std::pair<std::string, std::string>>, std::vector<size_t>> Classes;
    for (size_t I : Arrays)
      Classes[Use[I].Indices].push_back(I);
    for (auto &[Indices, Class] : Classes)
      propose(Class);
  }

  /// Arrays that some function indexes alike, directly or through others.
  void connected(llvm::ArrayRef<size_t> Arrays) {
    std::vector<size_t> Left(Arrays);
    while (!Left.empty()) {
      std::vector<size_t> Group{Left.front()};
      Left.erase(Left.begin());
      for (size_t G = 0; G < Group.size(); ++G)
        for (size_t I = 0; I < Left.size();)
          if (llvm::any_of(Use[Left[I]].Indices, [&](const auto &At) { return Use[Group[G]].Indices.count(At); })) {
            Group.push_back(Left[I]);
            Left.erase(Left.begin() + I);
          } else {
            ++I;
          }
      llvm::sort(Group);
      propose(Group);
    }
  }

  /// What one function only reads.
  void inputs(llvm::ArrayRef<size_t> Arrays) {
    std::set<std::string> Functions;
    for (size_t I : Arrays)
      Functions.insert(Use[I].Functions.begin(), Use[I].Functions.end());
    for (const std::string &F : Functions) {
      std::vector<size_t> Read;
      for (size_t I : Arrays)
        if (Use[I].Functions.count(F) && !Use[I].Written.count(F))
          Read.push_back(I);
      if (Read.size() <= 4)
        propose(Read);
    }
  }

  /// A function that has two pointers to one array, or to arrays of the group
  /// that live in different places, could not be given one record pointer.
  bool separable(llvm::ArrayRef<size_t> Arrays) const {
    std::map<std::pair<std::string, size_t>, std::set<std::string>> Pointers; // of a scope and an array
    for (const ArrayVariable &V : A.Variables)
      if (llvm::is_contained(Arrays, V.Array) && V.Declared)
        Pointers[{V.Scope, V.Array}].insert(V.Slot.empty() ? std::to_string(V.Where.Line) + ":" + std::to_string(V.Where.Column) + V.Where.File : V.Slot);
    return llvm::all_of(Pointers, [](const auto &P) { return P.second.size() == 1; });
  }

  const ArrayProgram &A;
  std::vector<Usage> Use;
  std::vector<ParallelGroup> Out;
};

} // namespace

std::vector<ParallelGroup> parallelGroups(const ArrayProgram &A) { return Grouper(A).run(); }

} // namespace restride
