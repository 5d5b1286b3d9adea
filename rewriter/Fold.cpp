#include "rewriter/Fold.h"

#include "rewriter/FieldCopies.h"
#include "rewriter/FoldDeclarations.h"
#include "rewriter/Format.h"
#include "analysis/program/Comments.h"

#include "llvm/ADT/STLExtras.h"

namespace restride {

namespace {

class Folder {
public:
  Folder(const ArrayProgram &A, const ParallelGroup &G) : A(A), G(G), Source(A.P.Text.text()) { Out.Names = foldNames(A, G); }

  llvm::Expected<Folded> run() {
    for (size_t F = 0; F < G.Arrays.size(); ++F)
      for (const ArrayVariable &V : A.Variables)
        if (V.Array == G.Arrays[F])
          variable(V, F);
    arguments();
    calls();
    if (std::optional<std::string> Why = foldDeclarations(A, G, Out.Names, Edits))
      fail(*Why);
    record();
    if (!Problem.empty())
      return llvm::createStringError(Problem);
    llvm::Expected<Rewritten> Text = applyEdits(A.P.Text, std::move(Edits));
    if (!Text)
      return Text.takeError();
    Out.Text = std::move(*Text);
    return std::move(Out);
  }

private:
  void fail(std::string Why) {
    if (Problem.empty())
      Problem = std::move(Why);
  }
  const std::string &handle(const ArrayVariable &V) { return Out.Names.Handles[V.Scope]; }
  std::string type(size_t F) const { return A.P.Candidates[G.Arrays[F]].Type.Name; }

  /// The variable's name at the end of \p Base: "x", "s.x".
  std::optional<Range> nameIn(Range Base, const std::string &Name) {
    llvm::StringRef Text = A.P.Text.text(Base);
    bool Whole = Text.ends_with(Name) && (Text.size() == Name.size() || !isWord(Text[Text.size() - Name.size() - 1]));
    if (Whole && !Name.empty())
      return Range{Base.End - unsigned(Name.size()), Base.End};
    fail("the pointer '" + Name + "' is named in an unusual way");
    return std::nullopt;
  }
  static bool isIdentifier(llvm::StringRef Text) { return llvm::all_of(Text, isWord); }
  static bool isWord(char C) { return isalnum((unsigned char)C) || C == '_'; }

  Pieces base(Range Base, const ArrayVariable &V) {
    std::optional<Range> Name = nameIn(Base, V.Name);
    if (!Name)
      return {};
    if (Name->Begin == Base.Begin)
      return {handle(V)};
    return {Range{Base.Begin, Name->Begin}, handle(V)};
  }

  static Pieces index(const Index &At) {
    Pieces Out;
    for (const IndexTerm &T : At.Terms) {
      bool First = Out.empty();
      if (!First || T.Negative)
        Out.push_back(First ? "-" : T.Negative ? " - " : " + ");
      bool Alone = At.Terms.size() == 1 && !T.Negative;
      if (T.Primary || Alone)
        Out.push_back(T.Source);
      else
        add(Out, {"(", T.Source, ")"});
    }
    return Out.empty() ? Pieces{"0"} : Out;
  }

  void access(const ArrayVariable &V, const Access &One, size_t F) {
    llvm::StringRef Text = A.P.Text.text(One.Whole);
    const std::vector<IndexTerm> &Terms = One.What.At.Terms;
    std::string Field = "." + Out.Names.Fields[F];
    if (One.K == Access::Leaf && Terms.size() == 1 && Text.ends_with("]") && One.Whole.Begin == One.What.Base.Begin &&
        Source.slice(One.What.Base.End, Terms[0].Source.Begin).trim() == "[" && Source.slice(Terms[0].Source.End, One.Whole.End).trim() == "]") {
      if (std::optional<Range> Name = nameIn(One.What.Base, V.Name)) {
        Edits.push_back({*Name, {handle(V)}});
        Edits.push_back({{One.Whole.End, One.Whole.End}, {Field}});
      }
      return;
    }
    Pieces With;
    if (One.K == Access::Address)
      With.push_back("&");
    add(With, base(One.What.Base, V));
    With.push_back("[");
    add(With, index(One.What.At));
    With.push_back("]" + Field);
    Edits.push_back({One.Whole, With});
  }

  void variable(const ArrayVariable &V, size_t F) {
    for (const Access &One : V.Sites.Accesses)
      access(V, One, F);
    for (const SizeOf &S : V.Sites.Sizes)
      Edits.push_back({S.Operand, {"(" + type(F) + ")"}});
    for (const Argument &One : V.Sites.Arguments) {
      if (!One.Call)
        return fail("a macro calls a function with the arrays");
      Calls[{*One.Call, One.Parameter.substr(0, One.Parameter.rfind('#'))}].push_back({&V, &One});
    }
    for (const HostCall &H : V.Sites.Calls)
      Host.push_back({&V, &H, F});
  }

  static unsigned position(const std::string &Slot) { return std::stoul(Slot.substr(Slot.rfind('#') + 1)); }

  /// f(x, n, y) becomes f(xy, n).
  void arguments() {
    for (auto &[Call, Given] : Calls) {
      llvm::sort(Given, [](const auto &L, const auto &R) { return position(L.second->Parameter) < position(R.second->Parameter); });
      std::optional<llvm::StringRef> Prefix;
      for (const auto &[V, One] : Given) {
        std::optional<Range> Name = nameIn(One->What.Base, V->Name);
        if (!Name)
          return;
        llvm::StringRef Before = Source.slice(One->What.Base.Begin, Name->Begin);
        if (One->Whole != One->What.Base || (Prefix && *Prefix != Before) || Given.front().first->Scope != V->Scope)
          return fail("a call takes the arrays from different places");
        Prefix = Before;
        if (One == Given.front().second)
          Edits.push_back({*Name, {handle(*V)}});
        else if (std::optional<Range> Drop = withComma(One->Whole, Source))
          Edits.push_back({*Drop, {}});
        else
          fail("the arguments of a call cannot be taken apart");
      }
    }
  }

  struct Site {
    const ArrayVariable *V;
    const HostCall *H;
    size_t Field;
  };

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
    std::map<Range, std::vector<Site>> Freed;
    for (const Site &S : Host) {
      if (allocates(S))
        Made.push_back(S);
      else if (S.H->What == HostCall::Free)
        Freed[*S.H->Block].push_back(S);
      else
        copy(S);
    }
    allocate(Made);
    for (const auto &[Block, Sites] : Freed) {
      std::set<size_t> Fields;
      for (const Site &S : Sites)
        Fields.insert(S.Field);
      if (Sites.size() != G.Arrays.size() || Fields.size() != Sites.size())
        return fail("the arrays are not freed together");
      for (const Site &S : llvm::ArrayRef(Sites).drop_back())
        drop(*S.H);
      replacePointer(Sites.back());
    }
  }

  void replacePointer(const Site &S) {
    Range Where = S.H->Pointers[0].Plain ? *S.H->Pointers[0].Plain : S.H->Pointers[0].What.Base;
    if (std::optional<Range> Name = nameIn(Where, S.V->Name))
      Edits.push_back({*Name, {handle(*S.V)}});
  }

  llvm::StringRef prefix(const Site &S) {
    Range Where = S.H->Pointers[0].Plain ? *S.H->Pointers[0].Plain : S.H->Pointers[0].What.Base;
    std::optional<Range> Name = nameIn(Where, S.V->Name);
    return Name ? Source.slice(Where.Begin, Name->Begin) : "";
  }

  /// The first allocation is the one of the records.
  void allocate(llvm::ArrayRef<Site> Made) {
    if (Made.size() != G.Arrays.size())
      return fail("the arrays are not allocated once each");
    for (const Site &S : Made) {
      if (prefix(S) != prefix(Made.front()) || S.V->Scope != Made.front().V->Scope)
        return fail("the arrays are allocated for different objects");
      if (S.H->Changing && !adjacent(Made))
        return fail("what the arrays' sizes depend on could change between their allocations");
    }
    for (const Site &S : Made.drop_front())
      drop(*S.H);
    const Site &First = Made.front();
    replacePointer(First);
    Range Count = *First.H->Count;
    llvm::StringRef Text = A.P.Text.text(Count);
    size_t At = Text.find("sizeof"), Open = Text.find('(', At), Close = Text.find(')', Open);
    bool Plain = At != llvm::StringRef::npos && Text.find("sizeof", At + 1) == llvm::StringRef::npos && Close != llvm::StringRef::npos &&
                 Text.slice(At + 6, Open).trim().empty() && Text.slice(Open + 1, Close).find_first_of("*([") == llvm::StringRef::npos &&
                 isTypeName(Text.slice(Open + 1, Close).trim(), First.Field);
    if (Plain)
      Edits.push_back({{Count.Begin + unsigned(Open) + 1, Count.Begin + unsigned(Close)}, {Out.Names.Record}});
    else
      Edits.push_back({Count, {isIdentifier(Text) ? "" : "(", Count, (isIdentifier(Text) ? " / sizeof(" : ") / sizeof(") + type(First.Field) + ") * sizeof(" + Out.Names.Record + ")"}});
  }

  /// The name in front of some pointer's star, or the number's own.
  bool isTypeName(llvm::StringRef Name, size_t F) const {
    if (Name == type(F))
      return true;
    return llvm::any_of(A.P.Declarations, [&](const Declaration &D) {
      return A.P.Text.text(D.RecordName) == Name &&
             llvm::any_of(D.Declarators, [&](const Declarator &One) { return One.Candidate == int(G.Arrays[F]); });
    });
  }

  /// Nothing but the allocations stands between the first and the last.
  bool adjacent(llvm::ArrayRef<Site> Made) const {
    std::optional<unsigned> At;
    for (const Site &S : Made) {
      if (!S.H->Statement || (At && !Source.slice(*At, S.H->Statement->Begin).trim(" \t\r\n;").empty()))
        return false;
      At = S.H->Statement->End;
    }
    return true;
  }

  /// A copy or fill of one field.
  void copy(const Site &S) {
    const HostCall::Pointer &P = S.H->Pointers[0];
    Edits.push_back({S.H->Callee, {fieldCopyName(Out.Names.Record, S.H->What)}});
    Pieces With = base(P.What.Base, *S.V);
    if (!P.What.At.Terms.empty()) {
      With.push_back(P.What.At.Terms[0].Negative ? " " : " + ");
      add(With, index(P.What.At));
    }
    With.push_back(", &" + Out.Names.Record + "::" + Out.Names.Fields[S.Field]);
    Edits.push_back({P.Whole, With});
    Copies.add(S.H->What, P.Argument);
  }

  /// The record stands before the first declaration that needs it.
  void record() {
    if (Edits.empty())
      return fail("nothing uses the arrays");
    std::set<unsigned> Files;
    unsigned First = ~0u;
    for (const Edit &E : Edits) {
      Files.insert(A.P.Text.at(E.Where.Begin).Text.Begin);
      First = std::min(First, E.Where.Begin);
    }
    if (Files.size() > 1)
      return fail("the arrays are used in several files");
    for (const Range &D : A.TopLevel)
      if (D.Begin <= First && First < D.End)
        First = D.Begin;
    First = commentAbove(Source, First);
    std::string Code = "// One element of the arrays " + list() + ".\nstruct " + Out.Names.Record + " {\n";
    for (size_t F = 0; F < G.Arrays.size(); ++F) {
      bool Joins = F > 0 && type(F) == type(F - 1);
      if (Joins)
        Code.resize(Code.size() - 2);
      Code += (Joins ? ", " : "  " + type(F) + " ") + Out.Names.Fields[F] + ";\n";
    }
    Code += "};\n\n";
    if (Copies.any())
      Code += fieldCopyCode(Out.Names.Record, 1, Copies);
    bool NewLine = First == 0 || Source[First - 1] == '\n';
    Edits.push_back({{First, First}, {(NewLine ? "" : "\n") + formatFor(A.P.Text.at(First).Path, Code) + (Copies.any() ? "\n" : "")}});
  }

  std::string list() const {
    std::string Text;
    for (size_t I = 0; I < G.Arrays.size(); ++I)
      Text += (I == 0 ? "" : I + 1 == G.Arrays.size() ? " and " : ", ") + Out.Names.Fields[I];
    return Text;
  }

  const ArrayProgram &A;
  const ParallelGroup &G;
  llvm::StringRef Source;
  std::vector<Edit> Edits;
  std::map<std::pair<Range, std::string>, std::vector<std::pair<const ArrayVariable *, const Argument *>>> Calls;
  std::vector<Site> Host;
  FieldCopyNeeds Copies;
  std::string Problem;
  Folded Out;
};

} // namespace

llvm::Expected<Folded> fold(const ArrayProgram &A, const ParallelGroup &G) { return Folder(A, G).run(); }

} // namespace restride
