#include "rewriter/restore/Notes.h"

#include "rewriter/write/CodeLines.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <set>

namespace restride {

/// The blanks that the line at \p At begins with.
static llvm::StringRef indentAt(llvm::StringRef Text, unsigned At) {
  size_t Break = Text.rfind('\n', At ? At - 1 : 0);
  size_t Begin = Break == llvm::StringRef::npos || At == 0 ? 0 : Break + 1;
  return Text.slice(Begin, At).take_while([](char C) { return C == ' ' || C == '\t'; });
}

/// A note about lines [Begin, End) of \p Text; nothing where a comment cannot hold them.
static std::optional<std::string> note(llvm::StringRef Text, llvm::ArrayRef<CodeLine> Lines, size_t Begin, size_t End) {
  Range Where{Lines[Begin].Where.Begin, Lines[End - 1].Where.End};
  llvm::StringRef Indent = indentAt(Text, Where.Begin);
  std::string Out;
  for (llvm::StringRef Line : llvm::split(Text.slice(Where.Begin, Where.End), '\n')) {
    Line = Line.rtrim("\r");
    if (Line.ends_with("\\"))
      return std::nullopt;
    if (!Out.empty())
      Line.consume_front(Indent);
    Out += (Out.empty() ? "" : "\n") + Line.str();
  }
  return Out;
}

namespace {

/// Finds the lines that notes are most like, each note behind the one before it.
class Placement {
public:
  /// \p Count lines from \p Line on.
  struct Place {
    size_t Note, Line, Count;
  };
  static std::vector<Place> run(llvm::ArrayRef<CodeLine> Lines, llvm::ArrayRef<std::string> Notes) {
    Placement P(Lines);
    for (size_t G = Notes.size(); G-- > 0;)
      P.add(Notes[G]);
    return P.places();
  }

private:
  static constexpr unsigned char NextLine = 0, NextNote = 255;
  static constexpr size_t MostLines = 12;
  static constexpr double LeastLikeness = 0.4; ///< less like is another line

  explicit Placement(llvm::ArrayRef<CodeLine> Lines) : Best{std::vector<double>(Lines.size() + 1)} {
    for (const CodeLine &L : Lines) {
      Words.emplace_back();
      for (const std::string &T : L.Tokens)
        Words.back().push_back(word(T));
    }
  }
  size_t word(llvm::StringRef T) { return Ids.try_emplace(T, Ids.size()).first->second; }

  void add(llvm::StringRef Note) {
    size_t Lines = Words.size(), Size = 0;
    std::vector<TextToken> Tokens = tokensOf(Note);
    for (const TextToken &T : Tokens)
      word(T.Text);
    std::vector<int> Left(Ids.size());
    for (const TextToken &T : Tokens)
      ++Left[word(T.Text)];
    const std::vector<double> &After = Best.back();
    std::vector<double> Here(Lines + 1);
    std::vector<unsigned char> Do(Lines + 1, NextNote);
    for (size_t I = Lines; I-- > 0;) {
      Here[I] = Here[I + 1], Do[I] = NextLine;
      if (After[I] > Here[I])
        Here[I] = After[I], Do[I] = NextNote;
      size_t Common = 0, End = std::min(Lines, I + MostLines);
      Size = 0;
      for (size_t K = I; K < End; ++K) {
        for (size_t W : Words[K])
          Common += Left[W]-- > 0, ++Size;
        double Like = 2.0 * double(Common) / double(Size + Tokens.size());
        // Squared: one good place is better than two poor ones.
        if (Like >= LeastLikeness && Like * Like + After[K + 1] > Here[I])
          Here[I] = Like * Like + After[K + 1], Do[I] = K + 1 - I;
      }
      for (size_t K = I; K < End; ++K)
        for (size_t W : Words[K])
          ++Left[W];
    }
    Best.push_back(std::move(Here));
    Choices.push_back(std::move(Do));
  }

  std::vector<Place> places() const {
    std::vector<Place> Out;
    size_t Line = 0;
    for (size_t G = 0; G < Choices.size();) {
      unsigned char Do = Choices[Choices.size() - 1 - G][Line];
      if (Do == NextLine) {
        ++Line;
        continue;
      }
      if (Do != NextNote)
        Out.push_back({G, Line, Do}), Line += Do;
      ++G;
    }
    return Out;
  }

  llvm::StringMap<size_t> Ids;
  std::vector<std::vector<size_t>> Words; ///< of each line
  /// Best likeness in total from a line on; the last note's first.
  std::vector<std::vector<double>> Best;
  std::vector<std::vector<unsigned char>> Choices; ///< how many lines the note takes, or one of the above
};

} // namespace

llvm::Expected<Rewritten> applyNotes(const Sources &Text, llvm::ArrayRef<std::string> Notes) {
  std::vector<CodeLine> Lines = codeLines(Text.text());
  std::vector<Edit> Edits;
  for (const Placement::Place &P : Placement::run(Lines, Notes)) {
    Range Where{Lines[P.Line].Where.Begin, Lines[P.Line + P.Count - 1].Where.End};
    std::string Indent = indentAt(Text.text(), Where.Begin).str(), With;
    for (llvm::StringRef Line : llvm::split(Notes[P.Note], '\n'))
      With += With.empty() ? Line.str() : "\n" + (Line.empty() ? "" : Indent) + Line.str();
    Edits.push_back({Where, {With}});
  }
  return applyEdits(Text, std::move(Edits));
}

/// What is longer is no note, and stays as restoring has it.
static constexpr size_t MostLinesOfNote = 12, MostNoteLines = 60;

static bool aligns(llvm::ArrayRef<CodeLine> Lines) {
  return llvm::any_of(Lines, [](const CodeLine &L) { return llvm::is_contained(L.Tokens, "__align__") || llvm::is_contained(L.Tokens, "alignas"); });
}

/// One line more on both sides of a hunk.
static Hunk wider(Hunk H, size_t OldLines, size_t NewLines) {
  if (H.OldBegin > 0 && H.NewBegin > 0)
    --H.OldBegin, --H.NewBegin;
  if (H.OldEnd < OldLines && H.NewEnd < NewLines)
    ++H.OldEnd, ++H.NewEnd;
  return H;
}

static void joinOverlaps(std::vector<Hunk> &Hunks) {
  std::vector<Hunk> Out;
  for (const Hunk &H : Hunks) {
    if (Out.empty() || H.OldBegin >= Out.back().OldEnd) {
      Out.push_back(H);
      continue;
    }
    Out.back().OldEnd = std::max(Out.back().OldEnd, H.OldEnd);
    Out.back().NewEnd = std::max(Out.back().NewEnd, H.NewEnd);
  }
  Hunks = std::move(Out);
}

/// The notes that lead from \p Plain to \p Before. A note whose place is not plain
/// gets lines around it.
static std::vector<std::string> notesFor(llvm::StringRef Plain, llvm::StringRef Before) {
  std::vector<CodeLine> Old = codeLines(Plain), New = codeLines(Before);
  std::vector<Hunk> Hunks = differences(Old, New);
  // A struct that is aligned where it is declared stays that.
  llvm::erase_if(Hunks, [&](const Hunk &H) {
    return aligns(llvm::ArrayRef(Old).slice(H.OldBegin, H.OldEnd - H.OldBegin)) && !aligns(llvm::ArrayRef(New).slice(H.NewBegin, H.NewEnd - H.NewBegin));
  });
  static constexpr unsigned MostRounds = 6;
  std::vector<std::string> Notes;
  for (unsigned Round = 0; Round < MostRounds; ++Round) {
    for (Hunk &H : Hunks)
      while ((H.OldBegin == H.OldEnd || H.NewBegin == H.NewEnd) && (H.OldBegin > 0 || H.OldEnd < Old.size()))
        H = wider(H, Old.size(), New.size());
    joinOverlaps(Hunks);
    Notes.clear();
    std::vector<size_t> Of; ///< hunk of each note
    for (size_t I = 0; I < Hunks.size(); ++I)
      if (Hunks[I].NewEnd - Hunks[I].NewBegin > MostLinesOfNote)
        continue;
      else if (std::optional<std::string> N = note(Before, New, Hunks[I].NewBegin, Hunks[I].NewEnd)) {
        Notes.push_back(std::move(*N));
        Of.push_back(I);
      }
    std::set<size_t> Astray(Of.begin(), Of.end());
    for (const Placement::Place &P : Placement::run(Old, Notes))
      if (P.Line == Hunks[Of[P.Note]].OldBegin && P.Line + P.Count == Hunks[Of[P.Note]].OldEnd)
        Astray.erase(Of[P.Note]);
    if (Astray.empty())
      break;
    for (size_t I : Astray)
      Hunks[I] = wider(Hunks[I], Old.size(), New.size());
  }
  return Notes;
}

llvm::Expected<Rewritten> withNotes(const Sources &Written, const Sources &Before) {
  std::vector<TextToken> Tokens = tokensOf(Written.text());
  std::vector<GeneratedBlock> Blocks = generatedBlocks(Written.text(), Tokens);
  // What an earlier run wrote and this one left is a part of both.
  llvm::erase_if(Blocks, [&](const GeneratedBlock &B) { return Before.text().contains("struct " + B.Handle + " {"); });
  // Where arrays were folded, lines did not become what they are by a layout alone.
  if (Blocks.empty() || llvm::any_of(Blocks, [](const GeneratedBlock &B) { return B.Folded; }))
    return applyEdits(Written, {});
  llvm::Expected<Rewritten> Plain = restore(Written, Blocks);
  if (!Plain)
    return Plain.takeError();
  Sources Now = sourcesOf(Written, *Plain);
  std::vector<std::string> Notes = notesFor(Now.text(), Before.text());
  if (Notes.empty())
    return applyEdits(Written, {});
  std::string Comment = "\n";
  size_t Lines = 0;
  for (const std::string &N : Notes) {
    llvm::StringRef Mark = NoteMark;
    Lines += llvm::count(N, '\n') + 1;
    if (Lines > MostNoteLines)
      break;
    for (llvm::StringRef Line : llvm::split(N, '\n')) {
      Comment += Mark.str() + Line.str() + "\n";
      Mark = NoteGoesOn;
    }
  }
  unsigned At = Blocks.front().Text.End;
  return applyEdits(Written, {{{At, At}, {Comment}}});
}

} // namespace restride
