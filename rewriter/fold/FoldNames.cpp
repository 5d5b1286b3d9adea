#include "rewriter/fold/FoldNames.h"

#include "clang/Basic/CharInfo.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace restride {

static constexpr size_t MaxLength = 24;

static std::set<std::string> words(llvm::StringRef Text) {
  std::set<std::string> Out;
  for (size_t I = 0; I < Text.size();) {
    size_t End = I;
    while (End < Text.size() && clang::isAsciiIdentifierContinue(Text[End]))
      ++End;
    if (End > I)
      Out.insert(Text.slice(I, End).str());
    I = std::max(End, I + 1);
  }
  return Out;
}

/// Without what says that it lies on the device: "d_x", "x_gpu" are "x".
static llvm::StringRef bare(llvm::StringRef Name) {
  static constexpr llvm::StringRef Marks[] = {"device", "dev", "gpu", "cuda", "cu", "d"};
  llvm::StringRef Rest = Name;
  Rest.consume_front("m_");
  for (llvm::StringRef Mark : Marks) {
    llvm::StringRef Front = Rest, Back = Rest;
    if (Front.consume_front_insensitive(Mark) && Front.consume_front("_") && !Front.empty() && !llvm::isDigit(Front[0]))
      return Front;
    if (Back.consume_back_insensitive(Mark) && Back.consume_back("_") && !Back.empty())
      return Back;
  }
  return Rest.empty() ? Name : Rest;
}

/// What most kernels call the array.
static std::string fieldName(const ArrayProgram &A, size_t Array) {
  std::map<std::string, unsigned> Votes;
  std::string Best;
  for (const ArrayVariable &V : A.Variables)
    if (V.Array == Array && V.Declared && V.Device && !V.Name.empty())
      if (std::string Name = bare(V.Name).str(); ++Votes[Name] > Votes[Best])
        Best = Name;
  return Best.empty() ? bare(A.P.Candidates[Array].Array).str() : Best;
}

static std::string commonPrefix(llvm::ArrayRef<std::string> Names) {
  std::string Out = Names.front();
  for (const std::string &N : Names)
    while (!llvm::StringRef(N).starts_with(Out))
      Out.pop_back();
  return Out;
}

static std::string commonSuffix(std::vector<std::string> Names) {
  for (std::string &N : Names)
    std::reverse(N.begin(), N.end());
  std::string Out = commonPrefix(Names);
  std::reverse(Out.begin(), Out.end());
  return Out;
}

/// A word of the name ends in front of \p At: "d_|x", "particle|X", "v|2".
static bool beginsWord(llvm::StringRef Name, size_t At) {
  if (At == 0 || At == Name.size())
    return true;
  char Before = Name[At - 1], Next = Name[At];
  return Before == '_' || Next == '_' || llvm::isDigit(Before) != llvm::isDigit(Next) || (!llvm::isUpper(Before) && llvm::isUpper(Next));
}

/// The parts in which the names differ, between what they share: "d_xyz". Names
/// that differ in more than a letter share whole words: "order" and "out" no "o".
static std::string joined(llvm::ArrayRef<std::string> Names) {
  if (Names.size() == 1)
    return Names.front();
  std::string Prefix = commonPrefix(Names), Suffix = commonSuffix(Names), Middle;
  size_t Shortest = llvm::min_element(Names, [](const std::string &A, const std::string &B) { return A.size() < B.size(); })->size();
  while (Prefix.size() + Suffix.size() >= Shortest && !Suffix.empty())
    Suffix.erase(0, 1);
  if (llvm::any_of(Names, [&](const std::string &N) { return N.size() - Prefix.size() - Suffix.size() > 1; })) {
    while (!llvm::all_of(Names, [&](const std::string &N) { return beginsWord(N, Prefix.size()); }))
      Prefix.pop_back();
    while (!llvm::all_of(Names, [&](const std::string &N) { return beginsWord(N, N.size() - Suffix.size()); }))
      Suffix.erase(0, 1);
  }
  bool Words = llvm::any_of(Names, [&](const std::string &N) { return N.size() - Prefix.size() - Suffix.size() > 2; });
  for (const std::string &N : Names) {
    std::string Part = N.substr(Prefix.size(), N.size() - Prefix.size() - Suffix.size());
    Middle += (Words && !Middle.empty() && !Part.empty() ? "_" : "") + Part;
  }
  return Prefix + Middle + Suffix;
}

static std::string capitalised(llvm::StringRef Name) {
  std::string Out;
  for (llvm::StringRef Part : llvm::split(Name, '_'))
    if (!Part.empty())
      Out += llvm::toUpper(Part[0]) + Part.drop_front().str();
  return Out;
}

static std::string fresh(const std::string &Name, std::set<std::string> &Taken) {
  std::string Out = Name;
  for (unsigned I = 2; !Taken.insert(Out).second; ++I)
    Out = Name + std::to_string(I);
  return Out;
}

/// The type in the words of most kernels. A typedef may be another type in another configuration.
static std::string typeName(const ArrayProgram &A, size_t Array) {
  std::map<std::string, unsigned> Votes;
  std::string Best;
  for (const Declaration &D : A.P.Declarations)
    for (const Declarator &One : D.Declarators)
      if (std::string Name = A.P.Text.text(D.RecordName).str(); One.Candidate == int(Array) && !One.Slot.empty() && ++Votes[Name] > Votes[Best])
        Best = Name;
  return Best.empty() ? A.P.Candidates[Array].Type.Name : Best;
}

static void addKeywords(std::set<std::string> &To) {
#define KEYWORD(Name, Flags) To.insert(#Name);
#include "clang/Basic/TokenKinds.def"
}

FoldNames foldNames(const ArrayProgram &A, const ParallelGroup &G) {
  FoldNames Out;
  std::set<std::string> Taken = words(A.P.Text.text()), Fields;
  addKeywords(Taken);
  for (size_t Array : G.Arrays) {
    Out.Fields.push_back(fresh(fieldName(A, Array), Fields));
    Out.Types.push_back(typeName(A, Array));
  }
  std::string Joined = capitalised(joined(Out.Fields));
  if (Joined.size() > MaxLength)
    Joined = capitalised(Out.Fields.front()) + "Fields";
  if (Joined.empty() || llvm::isDigit(Joined[0]) || Joined.size() == 1)
    Joined = "Fields" + Joined;
  // Generated names begin with the record's and go on with another word, so none
  // may: "Xyz_free" is in the way of "Xyz", and "Xyzd" is not.
  std::string Record = Joined;
  auto Begins = [&](llvm::StringRef Name) { return Name.consume_front(Record) && (Name.empty() || !llvm::isLower(Name[0])); };
  for (unsigned I = 2; llvm::any_of(Taken, Begins); ++I)
    Record = Joined + std::to_string(I);
  Out.Record = Record;
  Taken.insert(Record);

  std::map<std::string, std::vector<std::string>> Names; // by scope, in the group's order
  for (size_t Array : G.Arrays) {
    std::set<std::string> Seen;
    for (const ArrayVariable &V : A.Variables)
      if (V.Array == Array && V.Declared && !V.Name.empty() && Seen.insert(V.Scope).second)
        Names[V.Scope].push_back(V.Name);
  }
  auto InFunction = [&](const std::string &Scope) {
    return llvm::any_of(A.Variables, [&](const ArrayVariable &V) { return V.Scope == Scope && V.InFunction; });
  };
  std::vector<std::string> Scopes; // those that functions see first
  for (bool Functions : {false, true})
    for (const auto &[Scope, Own] : Names)
      if (InFunction(Scope) == Functions)
        Scopes.push_back(Scope);
  for (const std::string &Scope : Scopes) {
    const std::vector<std::string> &Own = Names[Scope];
    std::string Name = joined(Own);
    if (Own.size() == 1) { // d_x alone is d_xyz too
      size_t At = Name.find(bare(Name).str());
      Name.replace(At, bare(Name).size(), joined(Out.Fields));
    }
    if (Name.size() > MaxLength) {
      std::string Prefix = Own.size() > 1 ? commonPrefix(Own) : "";
      Name = Prefix + std::string(1, llvm::toLower(Record[0])) + Record.substr(1);
    }
    std::set<std::string> Here = Taken;
    // Another function may use the same; what they all see it must not hide,
    // unless the pointers' own names did.
    for (const auto &[Other, Theirs] : Names)
      if (InFunction(Scope) && !InFunction(Other) && !llvm::all_of(Theirs, [&](const std::string &N) { return llvm::is_contained(Own, N); }))
        Here.insert(Out.Handles[Other]);
    Out.Handles[Scope] = fresh(Name, Here);
  }
  return Out;
}

} // namespace restride
