// Which arrays of numbers could be one array of records.

#include "analysis/program/ParallelArrays.h"
#include "analysis/program/PointerAssignment.h"

#include "llvm/ADT/STLExtras.h"

namespace restride {

static constexpr size_t MaxFields = 16, MaxGroups = 24;

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

static Location where(Range R, const Sources &Text) {
  const SourceFile &File = Text.at(R.Begin);
  llvm::StringRef Before = Text.text({File.Text.Begin, R.Begin});
  return {File.Path, unsigned(Before.count('\n')) + 1, unsigned(Before.size() - (Before.rfind('\n') + 1)) + 1};
}

/// Why the array cannot be a field: a use that is not one. Nothing if it can.
static std::optional<Refusal> notAField(const Candidate &C, const HostCall &Made, const Sources &Text) {
  for (const Refusal &R : C.Refusals)
    if (R.Layout.empty())
      return R;
  if (C.OtherConfiguration)
    return C.OtherConfiguration;
  for (const Shift &S : C.Shifts)
    if (!isPlain(S.What) || !assignmentToMember(S.Whole, Text.text()))
      return Refusal{"", S.Where, "the pointer is kept in another variable"};
  if (!C.Aliases.empty())
    return Refusal{"", where(C.Aliases.front().Declaration, Text), "a pointer into the array is kept in a variable; index the array itself"};
  if (!C.Tests.empty())
    return Refusal{"", where(C.Tests.front().Pointer, Text), "the pointer is tested for null"};
  for (const Argument &A : C.Arguments)
    if (!A.Whole.End || !isPlain(A.What) || A.ByReference)
      return Refusal{"", A.Where, A.Whole.End ? "a pointer into the array is passed on; pass the array and an index" : "a macro passes the pointer on"};
  for (const HostCall &H : C.Calls) {
    if (!H.Whole || !H.Block)
      return Refusal{"", H.Where, "this call is not a statement of a block"};
    if (H.What == HostCall::FreeAsync || H.What == HostCall::MallocAsync)
      return Refusal{"", H.Where, "the array is allocated on a stream"};
    if (H.Pointers.size() != 1)
      return Refusal{"", H.Where, "the array is copied into itself"};
  }
  if (!Made.Whole)
    return Refusal{"", Made.Where, "this byte count is not seen to be a number of elements times their size"};
  return std::nullopt;
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
    std::map<std::tuple<Range, std::string, HostCall::Api, std::set<std::string>>, std::vector<size_t>> Alike;
    for (size_t I = 0; I < A.P.Candidates.size(); ++I) {
      const Candidate &C = A.P.Candidates[I];
      const HostCall *Made = allocation(C);
      if (!Made || !Made->Block || !Made->Count || Made->Elements.empty() || C.Accesses.empty())
        continue;
      Alike[{*Made->Block, Made->Elements, Made->What, holders(I)}].push_back(I);
      if (std::optional<Refusal> Why = notAField(C, *Made, A.P.Text))
        Blocked[I] = *Why;
      for (const ArrayVariable &V : A.Variables)
        if (V.Array == I && V.Null)
          Blocked.try_emplace(I, Refusal{"", V.Where, "a null pointer is passed in the array's place"});
    }
    std::vector<std::vector<size_t>> Free;
    for (const auto &[Key, All] : Alike) {
      Free.emplace_back();
      llvm::copy_if(All, std::back_inserter(Free.back()), [&](size_t I) { return !Blocked.count(I); });
    }
    for (const std::vector<size_t> &Arrays : Free)
      sameIndices(Arrays);
    for (const std::vector<size_t> &Arrays : Free)
      connected(Arrays, [&](std::vector<size_t> Group) { propose(std::move(Group)); });
    for (const std::vector<size_t> &Arrays : Free) {
      inputs(Arrays);
      if (Arrays.size() <= 4)
        propose(Arrays);
    }
    for (const auto &[Key, All] : Alike)
      connected(All, [&](std::vector<size_t> Group) { refuse(std::move(Group)); });
    slices();
    return std::move(Out);
  }

private:
  /// The structs that hold a pointer to the array: one with some of the pointers
  /// of a group could not be given the record's.
  std::set<std::string> holders(size_t Array) const {
    std::set<std::string> Out;
    for (const ArrayVariable &V : A.Variables)
      if (V.Array == Array && V.Declared && !V.InFunction)
        Out.insert(V.Scope);
    return Out;
  }

  void propose(std::vector<size_t> Arrays) {
    if (Arrays.size() < 2 || Arrays.size() > MaxFields || Out.size() >= MaxGroups || !separable(Arrays))
      return;
    llvm::sort(Arrays, [&](size_t L, size_t R) { return allocation(A.P.Candidates[L])->Callee < allocation(A.P.Candidates[R])->Callee; });
    if (llvm::none_of(Out, [&](const ParallelGroup &G) { return G.Arrays == Arrays; }))
      Out.push_back({std::move(Arrays), {}, {}});
  }

  /// Arrays that are alike but for what some of them are used for.
  void refuse(std::vector<size_t> Arrays) {
    ParallelGroup G{std::move(Arrays), {}, {}};
    for (size_t I : G.Arrays)
      if (auto At = Blocked.find(I); At != Blocked.end())
        G.Refusals.push_back(At->second);
    if (G.Arrays.size() >= 2 && G.Arrays.size() <= MaxFields && !G.Refusals.empty())
      Out.push_back(std::move(G));
  }

  /// Several pointers of a function into one allocation, used at one index.
  void slices() {
    for (size_t I = 0; I < A.P.Candidates.size(); ++I) {
      const Candidate &C = A.P.Candidates[I];
      auto Shift = llvm::find_if(C.Shifts, [](const restride::Shift &S) { return !isPlain(S.What); });
      auto Passed = llvm::find_if(C.Arguments, [](const Argument &A) { return A.Whole.End && !isPlain(A.What); });
      if (Shift == C.Shifts.end() && Passed == C.Arguments.end())
        continue;
      std::map<std::pair<std::string, std::string>, std::set<std::string>> Names; // of a scope and an index
      for (const ArrayVariable &V : A.Variables)
        for (const Access &One : V.Sites.Accesses)
          if (V.Array == I && V.Declared)
            Names[{V.Scope, indexText(One, A.P.Text)}].insert(V.Name);
      for (const auto &[Where, Parts] : Names)
        if (Parts.size() >= 2) {
          Out.push_back({{I},
                         {{"", Shift != C.Shifts.end() ? Shift->Where : Passed->Where, "several arrays are parts of one allocation; give each its own"}},
                         {Parts.begin(), Parts.end()}});
          break;
        }
    }
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
  void connected(llvm::ArrayRef<size_t> Arrays, llvm::function_ref<void(std::vector<size_t>)> Each) {
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
      Each(Group);
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
  std::map<size_t, Refusal> Blocked; ///< why an array cannot be a field
  std::vector<ParallelGroup> Out;
};

} // namespace

std::vector<ParallelGroup> parallelGroups(const ArrayProgram &A) { return Grouper(A).run(); }

} // namespace restride
