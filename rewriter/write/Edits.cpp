#include "rewriter/write/Edits.h"

#include <algorithm>

namespace restride {

unsigned Rewritten::original(unsigned New) const {
  auto After = std::upper_bound(Copies.begin(), Copies.end(), New, [](unsigned N, const Copy &C) { return N < C.New; });
  if (After == Copies.begin())
    return 0;
  const Copy &C = *std::prev(After);
  return C.Old + std::min(New - C.New, C.Length);
}

namespace {

class Renderer {
public:
  Renderer(llvm::StringRef Source, std::vector<Edit> All) : Source(Source), Edits(std::move(All)) {
    std::stable_sort(Edits.begin(), Edits.end(), [](const Edit &A, const Edit &B) {
      if (A.Where.Begin != B.Where.Begin)
        return A.Where.Begin < B.Where.Begin;
      if (isInsertion(A) != isInsertion(B))
        return isInsertion(A);
      if (A.Where.End != B.Where.End)
        return A.Where.End > B.Where.End;
      return A.Yields < B.Yields;
    });
    Edits.erase(std::unique(Edits.begin(), Edits.end()), Edits.end());
    Uses.resize(Edits.size());
    Active.resize(Edits.size());
  }

  llvm::Expected<Rewritten> run(llvm::ArrayRef<Range> Parts) {
    for (const Range &Part : Parts) {
      unsigned Begin = Out.Text.size();
      Windows = Source.slice(Part.Begin, Part.End).contains("\r\n");
      render(Part);
      Out.Files.push_back({Begin, unsigned(Out.Text.size())});
    }
    if (!Problem.empty())
      return llvm::createStringError(Problem);
    for (size_t I = 0; I < Edits.size(); ++I)
      if (!Uses[I] && !Edits[I].Yields)
        return llvm::createStringError("an edit at byte " + std::to_string(Edits[I].Where.Begin) +
                                       " lies in text that another edit drops");
    return std::move(Out);
  }

private:
  static bool isInsertion(const Edit &E) { return E.Where.Begin == E.Where.End; }

  void copy(unsigned Begin, unsigned End) {
    if (Begin >= End)
      return;
    Out.Copies.push_back({unsigned(Out.Text.size()), Begin, End - Begin});
    Out.Text += Source.slice(Begin, End);
  }

  /// Generated lines end as the file's do.
  void generate(llvm::StringRef Text) {
    for (char C : Text) {
      if (C == '\n' && Windows)
        Out.Text += '\r';
      Out.Text += C;
    }
  }

  void render(Range R) {
    unsigned At = R.Begin;
    auto First = std::lower_bound(Edits.begin(), Edits.end(), R.Begin, [](const Edit &E, unsigned Begin) { return E.Where.Begin < Begin; });
    for (size_t I = First - Edits.begin(); I < Edits.size() && Edits[I].Where.Begin <= R.End; ++I) {
      const Edit &E = Edits[I];
      if (Active[I] || !R.contains(E.Where))
        continue;
      // At the border of a piece it stands outside of the edit that has the piece.
      if (isInsertion(E) && Depth > 0 && (E.Where.Begin == R.Begin || E.Where.Begin == R.End))
        continue;
      if (E.Where.Begin < At) { // inside of the edit before, which renders it
        if (E.Where.End > At && !E.Yields)
          Problem = "two edits overlap at byte " + std::to_string(E.Where.Begin);
        continue;
      }
      copy(At, E.Where.Begin);
      ++Uses[I];
      Active[I] = true;
      ++Depth;
      for (const Piece &P : E.With) {
        if (P.Source)
          render(*P.Source);
        else
          generate(P.Text);
      }
      --Depth;
      Active[I] = false;
      At = E.Where.End;
    }
    copy(At, R.End);
  }

  llvm::StringRef Source;
  bool Windows = false;
  std::vector<Edit> Edits;
  std::vector<unsigned> Uses;
  std::vector<bool> Active;
  unsigned Depth = 0; ///< edits around what is being rendered
  Rewritten Out;
  std::string Problem;
};

} // namespace

llvm::Expected<Rewritten> applyEdits(const Sources &Text, std::vector<Edit> Edits) {
  std::vector<Range> Files;
  for (const SourceFile &F : Text.files())
    Files.push_back(F.Text);
  return Renderer(Text.text(), std::move(Edits)).run(Files);
}

llvm::Expected<std::string> applyEdits(const Sources &Text, Range Part, llvm::ArrayRef<Edit> Edits) {
  std::vector<Edit> Inside;
  for (const Edit &E : Edits)
    if (Part.contains(E.Where))
      Inside.push_back(E);
  llvm::Expected<Rewritten> Out = Renderer(Text.text(), std::move(Inside)).run(Part);
  if (!Out)
    return Out.takeError();
  return std::move(Out->Text);
}

} // namespace restride
