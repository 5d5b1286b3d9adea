#include "rewriter/fold/FoldHostSites.h"

#include "rewriter/fold/FoldText.h"
#include "rewriter/write/AccessEdits.h"

#include "llvm/ADT/STLExtras.h"

namespace restride {

namespace {

class HostFolder {
public:
  HostFolder(const ArrayProgram &A, const ParallelGroup &G, const FoldNames &Names, std::vector<Edit> &Edits, FieldCopyNeeds &Copies)
      : A(A), G(G), Names(Names), Edits(Edits), Copies(Copies), Source(A.P.Text.text()) {}

  std::optional<Refusal> run() {
    for (size_t F = 0; F < G.Arrays.size(); ++F)
      for (const ArrayVariable &V : A.Variables)
        if (V.Array == G.Arrays[F])
          for (const HostCall &H : V.Sites.Calls)
            Host.push_back({&V, &H, F});
    calls();
    return Refused;
  }

private:
  void fail(std::string Why) { fail(std::move(Why), A.P.Candidates[G.Arrays.front()].ArrayWhere); }
  void fail(std::string Why, Location Where) {
    if (!Refused)
      Refused = Refusal{"", std::move(Where), std::move(Why)};
  }
  const std::string &handle(const ArrayVariable &V) const { return Names.Handles.find(V.Scope)->second; }
  const std::string &type(size_t F) const { return Names.Types[F]; }
  std::optional<Range> nameIn(Range Base, const ArrayVariable &V) {
    std::optional<Range> Out = nameAtEnd(Base, V.Name, Source);
    if (!Out)
      fail("the pointer '" + V.Name + "' is named in an unusual way");
    return Out;
  }

  struct Site {
    const ArrayVariable *V;
    const HostCall *H;
    size_t Field;
  };

  using FreedSites = std::map<std::pair<Range, llvm::StringRef>, std::vector<Site>>; ///< by block and object

  bool allocates(const Site &S) const { return S.H->What <= HostCall::MallocAsync; }

  /// Without its whole line where it has one.
  void drop(const HostCall &H) {
    if (!H.Statement) {
      Edits.push_back({*H.Whole, {"cudaSuccess"}});
      return;
    }
    Edits.push_back({wholeLine(*H.Statement, Source), {}});
  }

  void calls() {
    llvm::sort(Host, [](const Site &L, const Site &R) { return L.H->Callee < R.H->Callee; });
    std::vector<Site> Made;
    FreedSites Freed;
    for (const Site &S : Host) {
      if (allocates(S))
        Made.push_back(S);
      else if (S.H->What == HostCall::Free)
        Freed[{*S.H->Block, prefix(S)}].push_back(S);
      else
        copy(S);
    }
    allocate(Made);
    for (const auto &[Where, Sites] : Freed) {
      std::set<size_t> Fields;
      for (const Site &S : Sites) {
        Fields.insert(S.Field);
        if (!S.H->Certain)
          return fail("the array is only freed under a condition", S.H->Where);
      }
      if (Sites.size() != G.Arrays.size() || Fields.size() != Sites.size())
        return fail("the arrays are not freed together", Sites.front().H->Where);
      if (!isOneObject(prefix(Sites.front()), Sites.front().H->Callee.Begin, Sites.back().H->Callee.Begin, Source))
        return fail("between the arrays' frees their object may have become another", Sites.front().H->Where);
      for (const Site &S : llvm::ArrayRef(Sites).drop_back())
        drop(*S.H);
      replacePointer(Sites.back());
    }
    nulls(Freed);
  }

  /// d_x = nullptr; d_y = nullptr; of which the last stays. Nothing but frees may
  /// stand between them.
  void nulls(const FreedSites &Freed) {
    struct Null {
      Range Statement, Name;
      const ArrayVariable *V;
      size_t Field;
    };
    std::map<std::pair<Range, llvm::StringRef>, std::vector<Null>> All; // by block and object
    for (size_t F = 0; F < G.Arrays.size(); ++F)
      for (const ArrayVariable &V : A.Variables)
        for (const NullValue &N : V.Sites.Nulls)
          if (V.Array == G.Arrays[F] && N.Statement && N.Block) {
            Range Name = {N.Statement->Begin, N.Statement->Begin + unsigned(A.P.Text.text(*N.Statement).find('='))};
            Name.End = Name.Begin + A.P.Text.text(Name).rtrim().size();
            if (std::optional<Range> Own = nameIn(Name, V))
              All[{*N.Block, Source.slice(Name.Begin, Own->Begin)}].push_back({*N.Statement, *Own, &V, F});
          }
    for (auto &[Where, Nulls] : All) {
      llvm::sort(Nulls, [](const Null &L, const Null &R) { return L.Statement < R.Statement; });
      std::set<size_t> Fields;
      std::vector<Range> Between;
      for (const Null &N : Nulls) {
        Fields.insert(N.Field);
        Between.push_back(N.Statement);
      }
      if (auto At = Freed.find(Where); At != Freed.end())
        for (const Site &S : At->second)
          if (S.H->Statement && Nulls.front().Statement < *S.H->Statement && *S.H->Statement < Nulls.back().Statement)
            Between.push_back(*S.H->Statement);
      if (Fields.size() != Nulls.size() || Nulls.size() != G.Arrays.size() || !areNeighbours(Between, Source))
        return fail("the arrays are not set to null together");
      const Null &Last = Nulls.back();
      for (const Null &N : llvm::ArrayRef(Nulls).drop_back())
        Edits.push_back({wholeLine(N.Statement, Source), {}});
      Edits.push_back({Last.Name, {handle(*Last.V)}});
    }
  }

  /// The pointer with its object, without "&" and parentheses: "s.x".
  Range pointer(const Site &S) const {
    Range Out = S.H->Pointers[0].Plain ? *S.H->Pointers[0].Plain : S.H->Pointers[0].What.Base;
    Out.Begin += A.P.Text.text(Out).size() - A.P.Text.text(Out).ltrim("&( ").size();
    Out.End = Out.Begin + A.P.Text.text(Out).rtrim(") ").size();
    return Out;
  }

  void replacePointer(const Site &S) {
    if (std::optional<Range> Name = nameIn(pointer(S), *S.V))
      Edits.push_back({*Name, {handle(*S.V)}});
  }

  llvm::StringRef prefix(const Site &S) {
    std::optional<Range> Name = nameIn(pointer(S), *S.V);
    return Name ? Source.slice(pointer(S).Begin, Name->Begin) : "";
  }

  /// The first allocation is the one of the records.
  void allocate(llvm::ArrayRef<Site> Made) {
    if (Made.size() != G.Arrays.size())
      return fail("the arrays are not allocated once each");
    for (const Site &S : Made) {
      if (prefix(S) != prefix(Made.front()) || S.V->Scope != Made.front().V->Scope)
        return fail("the arrays are allocated for different objects", S.H->Where);
      bool Assigned = llvm::any_of(S.H->Changes, [&](Range R) { return Made.front().H->Callee.Begin < R.Begin && R.Begin < Made.back().H->Callee.Begin; });
      if ((S.H->Changing || Assigned) && !adjacent(Made))
        return fail("what the arrays' sizes depend on could change between their allocations", S.H->Where);
    }
    if (!isOneObject(prefix(Made.front()), Made.front().H->Callee.Begin, Made.back().H->Callee.Begin, Source))
      return fail("between the arrays' allocations their object may become another", Made.front().H->Where);
    if (!Made.front().H->Certain)
      return fail("the first of the arrays is only allocated under a condition", Made.front().H->Where);
    for (const Site &S : Made.drop_front())
      drop(*S.H);
    const Site &First = Made.front();
    replacePointer(First);
    Range Count = *First.H->Count;
    llvm::StringRef Text = A.P.Text.text(Count);
    size_t At = Text.find("sizeof"), Open = Text.find('(', At), Close = Text.find(')', Open);
    bool Plain = First.H->Scales && At != llvm::StringRef::npos && (At == 0 || !isWord(Text[At - 1])) &&
                 Text.find("sizeof", At + 1) == llvm::StringRef::npos && Close != llvm::StringRef::npos && Text.slice(At + 6, Open).trim().empty() &&
                 Text.slice(Open + 1, Close).find_first_of("*([") == llvm::StringRef::npos &&
                 isTypeName(Text.slice(Open + 1, Close).trim(), First.Field);
    const SizeOf *Own = nullptr; // sizeof(*d_x)
    for (const SizeOf &S : A.P.Candidates[G.Arrays[First.Field]].Sizes)
      if (First.H->Scales && Count.contains(S.Operand) && Text.count("sizeof") == 1)
        Own = &S;
    if (Own) {
      llvm::erase_if(Edits, [&](const Edit &E) { return E.Where == Own->Operand; });
      Edits.push_back({Own->Operand, {"(" + Names.Record + ")"}});
    } else if (Plain)
      Edits.push_back({{Count.Begin + unsigned(Open) + 1, Count.Begin + unsigned(Close)}, {Names.Record}});
    else
      Edits.push_back({Count,
                       {isIdentifier(Text) ? "" : "(", Count,
                        (isIdentifier(Text) ? " / sizeof(" : ") / sizeof(") + type(First.Field) + ") * sizeof(" + Names.Record + ")"}});
  }

  /// The name in front of some pointer's star, or the number's own.
  bool isTypeName(llvm::StringRef Name, size_t F) const {
    if (Name == A.P.Candidates[G.Arrays[F]].Type.Name)
      return true;
    return llvm::any_of(A.P.Declarations, [&](const Declaration &D) {
      return A.P.Text.text(D.RecordName) == Name &&
             llvm::any_of(D.Declarators, [&](const Declarator &One) { return One.Candidate == int(G.Arrays[F]); });
    });
  }

  /// Nothing but the allocations stands between the first and the last.
  bool adjacent(llvm::ArrayRef<Site> Made) const {
    std::vector<Range> Statements;
    for (const Site &S : Made) {
      if (!S.H->Statement)
        return false;
      Statements.push_back(*S.H->Statement);
    }
    return areNeighbours(Statements, Source);
  }

  /// A copy or fill of one field.
  void copy(const Site &S) {
    const HostCall::Pointer &P = S.H->Pointers[0];
    Edits.push_back({S.H->Callee, {fieldCopyName(Names.Record, S.H->What)}});
    std::optional<Range> Name = nameIn(P.What.Base, *S.V);
    if (!Name)
      return;
    Pieces With{handle(*S.V)};
    if (P.What.Base.Begin < Name->Begin)
      With.insert(With.begin(), Range{P.What.Base.Begin, Name->Begin});
    if (!P.What.At.Terms.empty())
      add(With, {" + "}), add(With, index(P.What.At, true));
    With.push_back(", &" + Names.Record + "::" + Names.Fields[S.Field]);
    Edits.push_back({P.Whole, With});
    Copies.add(S.H->What, P.Argument);
  }

  const ArrayProgram &A;
  const ParallelGroup &G;
  const FoldNames &Names;
  std::vector<Edit> &Edits;
  FieldCopyNeeds &Copies;
  llvm::StringRef Source;
  std::vector<Site> Host;
  std::optional<Refusal> Refused;
};

} // namespace

std::optional<Refusal> foldHostSites(const ArrayProgram &A, const ParallelGroup &G, const FoldNames &Names, std::vector<Edit> &Edits,
                                     FieldCopyNeeds &Copies) {
  return HostFolder(A, G, Names, Edits, Copies).run();
}

} // namespace restride
