#include "rewriter/fold/Fold.h"

#include "analysis/program/Generated.h"
#include "rewriter/fold/FoldAssignments.h"
#include "rewriter/fold/FoldDeclarations.h"
#include "rewriter/fold/FoldHostSites.h"
#include "rewriter/fold/FoldPlace.h"
#include "rewriter/fold/FoldText.h"
#include "rewriter/write/AccessEdits.h"
#include "rewriter/write/FieldCopies.h"
#include "rewriter/write/Format.h"

#include "llvm/ADT/STLExtras.h"

namespace restride {

namespace {

class Folder {
public:
  Folder(const ArrayProgram &A, const ParallelGroup &G) : A(A), G(G), Source(A.P.Text.text()) { Out.Names = foldNames(A, G); }

  Folded run() {
    for (size_t F = 0; F < G.Arrays.size(); ++F)
      for (const ArrayVariable &V : A.Variables)
        if (V.Array == G.Arrays[F])
          variable(V, F);
    arguments();
    if (std::optional<Refusal> Why = foldHostSites(A, G, Out.Names, Edits, Copies); Why && !Out.Refused)
      Out.Refused = std::move(Why);
    if (std::optional<Refusal> Why = foldAssignments(A, G, Out.Names, Edits); Why && !Out.Refused)
      Out.Refused = std::move(Why);
    if (std::optional<std::string> Why = foldDeclarations(A, G, Out.Names, Edits))
      fail(*Why);
    record();
    if (Out.Refused)
      return std::move(Out);
    dropInside();
    llvm::Expected<Rewritten> Text = applyEdits(A.P.Text, std::move(Edits));
    if (!Text) {
      fail(llvm::toString(Text.takeError()));
      return std::move(Out);
    }
    for (size_t I : G.Arrays)
      if (const Mention *M = survivor(A.P.Candidates[I], *Text))
        fail("this use of '" + A.P.Text.text(M->Name).str() + "' is not understood", M->Where);
    Out.Text = std::move(*Text);
    return std::move(Out);
  }

private:
  void fail(std::string Why) { fail(std::move(Why), A.P.Candidates[G.Arrays.front()].ArrayWhere); }
  void fail(std::string Why, Location Where) {
    if (!Out.Refused)
      Out.Refused = Refusal{"", std::move(Where), std::move(Why)};
  }
  /// Where a statement goes, so do the edits in it.
  void dropInside() {
    std::vector<Range> Gone;
    for (const Edit &E : Edits)
      if (E.Where.Begin < E.Where.End && llvm::none_of(E.With, [](const Piece &P) { return P.Source.has_value(); }))
        Gone.push_back(E.Where);
    llvm::erase_if(Edits, [&](const Edit &E) {
      return llvm::any_of(Gone, [&](Range R) { return R != E.Where && R.contains(E.Where) && R.Begin < E.Where.Begin; });
    });
  }

  /// A name of a pointer that no edit took away. It might mean something else now.
  static const Mention *survivor(const Candidate &C, const Rewritten &Text) {
    for (const Mention &M : C.Mentions)
      for (const Rewritten::Copy &Kept : Text.Copies)
        if (Kept.Old < M.Name.End && M.Name.Begin < Kept.Old + Kept.Length)
          return &M;
    return nullptr;
  }
  const std::string &handle(const ArrayVariable &V) { return Out.Names.Handles[V.Scope]; }
  const std::string &type(size_t F) const { return Out.Names.Types[F]; }

  /// The variable's name at the end of \p Base: "x", "s.x".
  std::optional<Range> nameIn(Range Base, const ArrayVariable &V) {
    std::optional<Range> Out = nameAtEnd(Base, V.Name, Source);
    if (!Out)
      fail("the pointer '" + V.Name + "' is named in an unusual way");
    return Out;
  }

  Pieces base(Range Base, const ArrayVariable &V) {
    std::optional<Range> Name = nameIn(Base, V);
    if (!Name)
      return {};
    if (Name->Begin == Base.Begin)
      return {handle(V)};
    return {Range{Base.Begin, Name->Begin}, handle(V)};
  }

  void access(const ArrayVariable &V, const Access &One, size_t F) {
    llvm::StringRef Text = A.P.Text.text(One.Whole);
    const std::vector<IndexTerm> &Terms = One.What.At.Terms;
    std::string Field = "." + Out.Names.Fields[F];
    if (One.K == Access::Leaf && Terms.size() == 1 && Text.ends_with("]") && One.Whole.Begin == One.What.Base.Begin &&
        Source.slice(One.What.Base.End, Terms[0].Source.Begin).trim() == "[" && Source.slice(Terms[0].Source.End, One.Whole.End).trim() == "]") {
      if (std::optional<Range> Name = nameIn(One.What.Base, V)) {
        Edits.push_back({*Name, {handle(V)}});
        Edits.push_back({{One.Whole.End - 1, One.Whole.End}, {"]" + Field}});
      }
      return;
    }
    Pieces With;
    if (One.K == Access::Address)
      With.push_back("&");
    add(With, base(One.What.Base, V));
    With.push_back("[");
    add(With, index(One.What.At, false));
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
        return fail("a macro calls a function with the arrays", One.Where);
      Calls[{*One.Call, One.Parameter.substr(0, One.Parameter.rfind('#'))}].push_back({&V, &One});
    }
  }

  static unsigned position(const std::string &Slot) { return std::stoul(Slot.substr(Slot.rfind('#') + 1)); }

  /// f(x, n, y) becomes f(xy, n).
  void arguments() {
    for (auto &[Call, Given] : Calls) {
      llvm::sort(Given, [](const auto &L, const auto &R) { return position(L.second->Parameter) < position(R.second->Parameter); });
      std::optional<llvm::StringRef> Prefix;
      for (const auto &[V, One] : Given) {
        std::optional<Range> Name = nameIn(One->What.Base, *V);
        if (!Name)
          return;
        llvm::StringRef Before = Source.slice(One->What.Base.Begin, Name->Begin);
        if (One->Whole != One->What.Base || (Prefix && *Prefix != Before) || Before.contains('(') || Before.contains("++") || Before.contains("--") || Given.front().first->Scope != V->Scope)
          return fail("a call takes the arrays from different places", One->Where);
        Prefix = Before;
        if (One == Given.front().second)
          Edits.push_back({*Name, {handle(*V)}});
        else if (std::optional<Range> Drop = withComma(One->Whole, Source))
          Edits.push_back({*Drop, {}});
        else
          fail("the arguments of a call cannot be taken apart", One->Where);
      }
    }
  }

  /// The record stands before the first declaration that needs it.
  void record() {
    if (Edits.empty())
      return fail("nothing uses the arrays");
    std::vector<Range> Uses;
    for (const Edit &E : Edits)
      Uses.push_back(E.Where);
    std::optional<unsigned> Place = recordPlace(A, Uses);
    if (!Place)
      return fail("the arrays are used in several files, and none of these is read before the others; declare what takes the arrays in one header");
    unsigned First = *Place;
    const SourceFile &File = A.P.Text.at(First);
    if (Copies.any() && A.P.HostUnits && !A.MainFiles.count(File.Text.Begin))
      return fail("one array alone is copied, and the kernels for that would stand in a header of C++ files");
    std::string Code = FoldedMark + list() + ".\nstruct " + Out.Names.Record + " {\n";
    for (size_t F = 0; F < G.Arrays.size(); ++F) {
      bool Joins = F > 0 && type(F) == type(F - 1);
      if (Joins)
        Code.resize(Code.size() - 2);
      Code += (Joins ? ", " : "  " + type(F) + " ") + Out.Names.Fields[F] + ";\n";
    }
    Code += "};\n";
    if (Copies.any())
      Code += "\n" + fieldCopyCode(Out.Names.Record, 1, Copies);
    llvm::StringRef Before = Source.slice(File.Text.Begin, First).rtrim(" \t");
    bool NewLine = First == File.Text.Begin || Before.ends_with("\n");
    bool Blank = First == File.Text.Begin || Before.drop_back().rtrim(" \t\r").ends_with("\n");
    Edits.push_back({{First, First}, {(!NewLine ? "\n\n" : !Blank ? "\n" : "") + formatFor(File.Path, Code) + "\n"}});
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
  FieldCopyNeeds Copies;
  Folded Out;
};

} // namespace

Folded fold(const ArrayProgram &A, const ParallelGroup &G) { return Folder(A, G).run(); }

} // namespace restride
