#include "rewriter/fold/FoldDeclarations.h"

#include "rewriter/fold/FoldText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace restride {

namespace {

/// One declarator of the group and its declaration.
struct Place {
  const Declaration *D;
  const Declarator *One;
};

class DeclarationFolder {
public:
  DeclarationFolder(const ArrayProgram &A, const ParallelGroup &G, const FoldNames &Names, std::vector<Edit> &Edits)
      : A(A), G(G), Names(Names), Edits(Edits), Source(A.P.Text.text()) {}

  std::optional<std::string> run() {
    std::vector<const Declaration *> All;
    for (const Declaration &D : A.P.Declarations)
      All.push_back(&D);
    llvm::sort(All, [](const Declaration *L, const Declaration *R) { return L->Specifiers < R->Specifiers; });
    std::map<std::string, std::vector<Place>> Variables;
    std::vector<Place> Parameters; // of one function declaration
    for (const Declaration *D : All)
      for (const Declarator &One : D->Declarators) {
        if (!isMine(One))
          continue;
        if (D->Auto || !One.Reference.empty() || One.ToElement || One.Suffix || One.HasDefault)
          return "'" + name(One) + "' is declared in an unusual way";
        if (One.Slot.empty()) {
          Variables[One.Scope].push_back({D, &One});
          continue;
        }
        bool Next = !Parameters.empty() && (Parameters.back().One->Scope != One.Scope || position(One) <= position(*Parameters.back().One));
        if (Next)
          parameters(std::exchange(Parameters, {}));
        Parameters.push_back({D, &One});
      }
    if (!Parameters.empty())
      parameters(Parameters);
    for (const auto &[Scope, Places] : Variables)
      variables(Scope, Places);
    return Problem;
  }

private:
  bool isMine(const Declarator &One) const { return One.Candidate >= 0 && llvm::is_contained(G.Arrays, size_t(One.Candidate)); }
  std::string name(const Declarator &One) const { return A.P.Text.text(One.Name).str(); }
  static unsigned position(const Declarator &One) { return std::stoul(One.Slot.substr(One.Slot.rfind('#') + 1)); }
  const std::string &handle(const std::string &Scope) const { return Names.Handles.find(Scope)->second; }

  bool has(const Place &P, llvm::StringRef Word) const {
    llvm::StringRef Text = Source.slice(P.D->Specifiers.Begin, P.One->Name.Begin);
    return Text.contains(Word);
  }
  /// What of \p R is \p Word, with the blanks behind it, goes.
  void dropWord(Range R, llvm::StringRef Word) {
    size_t At = A.P.Text.text(R).find(Word);
    if (At == llvm::StringRef::npos)
      return;
    unsigned Begin = R.Begin + At, End = Begin + Word.size();
    while (End < R.End && isspace((unsigned char)Source[End]))
      ++End;
    Edits.push_back({{Begin, End}, {}});
  }

  /// f(const float *x, int n, float *y) becomes f(Xy *xy, int n).
  void parameters(llvm::ArrayRef<Place> Places) {
    const Place &First = Places.front();
    bool AllConst = llvm::all_of(Places, [&](const Place &P) { return has(P, "const"); });
    Edits.push_back({First.D->RecordName, {Names.Record}});
    if (First.One->Name.Begin < First.One->Name.End)
      Edits.push_back({First.One->Name, {handle(First.One->Scope)}});
    if (!AllConst) {
      dropWord({First.D->Specifiers.Begin, First.D->RecordName.Begin}, "const");
      dropWord({First.D->RecordName.End, First.D->Specifiers.End}, "const");
    }
    for (llvm::StringRef Word : {"__restrict__", "__restrict"})
      if (has(First, Word)) {
        if (!llvm::all_of(Places, [&](const Place &P) { return has(P, Word); }))
          dropWord({First.One->Text.Begin, First.One->Name.Begin}, Word);
        break;
      }
    for (const Place &P : Places.drop_front()) {
      std::optional<Range> Drop = withComma({P.D->Specifiers.Begin, P.One->Text.End}, Source);
      if (!Drop)
        Problem = "the parameters of a function cannot be taken apart";
      else
        Edits.push_back({*Drop, {}});
    }
  }

  llvm::StringRef initialiser(const Declarator &One) const { return Source.slice(One.Name.End, One.Text.End); }

  /// float *h_x, *d_x, *d_y; becomes float *h_x; Xy *d_xy;
  void variables(const std::string &Scope, llvm::ArrayRef<Place> Places) {
    for (const Place &P : Places)
      if (!initialiser(*P.One).trim(" \t={}").empty() && !isNull(initialiser(*P.One).trim(" \t={}"))) {
        Problem = "'" + name(*P.One) + "' is initialised with a pointer";
        return;
      }
    const Place &First = Places.front();
    for (size_t I = 0; I < Places.size();) {
      const Declaration &D = *Places[I].D;
      std::vector<const Declarator *> Mine;
      for (; I < Places.size() && Places[I].D == &D; ++I)
        Mine.push_back(Places[I].One);
      if (Mine.size() == D.Declarators.size())
        whole(D, Mine, &D == First.D ? &Scope : nullptr);
      else
        part(D, Mine, &D == First.D ? &Scope : nullptr);
    }
  }
  static bool isNull(llvm::StringRef Text) { return Text == "nullptr" || Text == "NULL" || Text == "0"; }

  /// Only the group's pointers are declared here.
  void whole(const Declaration &D, llvm::ArrayRef<const Declarator *> Mine, const std::string *Scope) {
    if (!Scope) {
      Edits.push_back({wholeLine({D.Specifiers.Begin, Mine.back()->Text.End}, Source), {}});
      return;
    }
    Edits.push_back({D.RecordName, {Names.Record}});
    Edits.push_back({Mine.front()->Name, {handle(*Scope)}});
    if (Mine.size() > 1)
      Edits.push_back({{Mine.front()->Text.End, Mine.back()->Text.End}, {}});
  }

  void part(const Declaration &D, llvm::ArrayRef<const Declarator *> Mine, const std::string *Scope) {
    unsigned End = D.Declarators.back().Text.End;
    Pieces With{Range{D.Specifiers.Begin, D.Specifiers.End}};
    for (bool First = true; const Declarator &One : D.Declarators) {
      if (llvm::is_contained(Mine, &One))
        continue;
      if (!First)
        With.push_back(", ");
      With.push_back(One.Text);
      First = false;
    }
    if (Scope) {
      size_t Line = Source.rfind('\n', D.Specifiers.Begin);
      llvm::StringRef Indent = Source.slice(Line == llvm::StringRef::npos ? 0 : Line + 1, D.Specifiers.Begin);
      With.push_back(Indent.trim().empty() ? ";\n" + Indent.str() : "; ");
      With.push_back((Source.slice(D.Specifiers.Begin, D.RecordName.Begin) + Names.Record + Source.slice(D.RecordName.End, D.Specifiers.End)).str());
      llvm::StringRef Star = Source.slice(Mine.front()->Text.Begin, Mine.front()->Name.Begin);
      With.push_back((Star + handle(*Scope) + initialiser(*Mine.front())).str());
    }
    Edits.push_back({{D.Specifiers.Begin, End}, With});
  }

  const ArrayProgram &A;
  const ParallelGroup &G;
  const FoldNames &Names;
  std::vector<Edit> &Edits;
  llvm::StringRef Source;
  std::optional<std::string> Problem;
};

} // namespace

std::optional<std::string> foldDeclarations(const ArrayProgram &A, const ParallelGroup &G, const FoldNames &Names, std::vector<Edit> &Edits) {
  return DeclarationFolder(A, G, Names, Edits).run();
}

} // namespace restride
