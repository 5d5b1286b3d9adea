#include "rewriter/restore/RestoreProgram.h"

#include "analysis/program/Assemble.h"
#include "layouts/Grouped.h"
#include "rewriter/restore/Notes.h"
#include "rewriter/write/CodeLines.h"
#include "rewriter/write/Variant.h"

#include "llvm/ADT/STLExtras.h"

namespace restride {

namespace {

/// Some blocks put back, and what the program then is.
struct Attempt {
  std::optional<ProgramReading> Reading;
  std::optional<Rewritten> Text;
  std::map<std::string, const Layout *> Found;
  Location Where;
  std::string Problem; ///< empty where it is proved
};

} // namespace

static bool isRecordOf(const Candidate &C, const GeneratedBlock &B) {
  return C.Type.Name == B.Record || llvm::StringRef(C.Spelling).ends_with("::" + B.Record) || C.Spelling == B.Record;
}

/// The layout of \p B for its record; null where the block does not say one.
static const Layout *layoutOf(const GeneratedBlock &B, const Record &R) {
  if (B.Layout != "grouped")
    return findLayout(B.Layout);
  std::vector<std::vector<std::string>> Groups;
  for (const HandleMember &M : B.Members) {
    Groups.push_back(M.Group.empty() ? std::vector<std::string>{M.Name} : M.Group);
    for (const std::string &Name : Groups.back())
      if (llvm::none_of(R.Fields, [&](const Field &F) { return F.Name == Name; }))
        return nullptr;
  }
  return &groupedLayout(R, Groups);
}

/// Where two texts differ first: a place in \p Read, which is on disk.
static std::optional<Location> firstDifference(const Rewritten &Again, const Sources &Read) {
  for (size_t I = 0; I < Read.files().size(); ++I) {
    llvm::StringRef Old = Read.text(Read.files()[I].Text);
    std::vector<TextToken> A = tokensOf(Old), B = tokensOf(Again.file(I));
    size_t At = 0;
    while (At < A.size() && At < B.size() && A[At].Text == B[At].Text)
      ++At;
    if (At == A.size() && At == B.size())
      continue;
    llvm::StringRef Before = Old.take_front(At < A.size() ? A[At].Where.Begin : Old.size());
    return Location{Read.files()[I].Path, unsigned(Before.count('\n') + 1), unsigned(Before.size() - (Before.rfind('\n') + 1) + 1)};
  }
  return std::nullopt;
}

/// Which arrays had which layouts is not written down. All of them is tried
/// first, then all but one, and so on.
static constexpr unsigned MostPlans = 256;

/// Rewrites the restored program again; fills Found where one plan gives \p OnDisk.
static void prove(Attempt &A, llvm::ArrayRef<GeneratedBlock> Blocks, const Sources &OnDisk) {
  Program P = assemble(ProgramFacts(A.Reading->Records));
  std::vector<std::vector<const Layout *>> Options; ///< by candidate, the likeliest first
  size_t Plans = 1;
  for (const Candidate &C : P.Candidates) {
    Options.emplace_back();
    for (const GeneratedBlock &B : Blocks)
      if (isRecordOf(C, B))
        if (const Layout *L = layoutOf(B, C.Type); L && !refusalOf(C, C.declared() ? declaredForm(*L) : *L))
          if (!llvm::is_contained(Options.back(), L))
            Options.back().push_back(L);
    Options.back().push_back(catalogue().front());
    Plans *= Options.back().size();
  }
  for (size_t N = 0; N < std::min<size_t>(Plans, MostPlans); ++N) {
    Plan Layouts;
    size_t Rest = N;
    for (const std::vector<const Layout *> &Of : Options) {
      Layouts.push_back(Of[Rest % Of.size()]);
      Rest /= Of.size();
    }
    llvm::Expected<Rewritten> Again = writeVariant(P, Layouts);
    if (!Again) {
      A.Problem = llvm::toString(Again.takeError());
      continue;
    }
    std::optional<Location> Other = firstDifference(*Again, OnDisk);
    if (!Other) {
      for (size_t I = 0; I < P.Candidates.size(); ++I)
        if (Layouts[I] != catalogue().front())
          A.Found[P.Candidates[I].Name] = Layouts[I];
      A.Problem.clear();
      return;
    }
    if (N > 0 && Other->Line <= A.Where.Line)
      continue;
    A.Where = *Other;
    A.Problem = "this is not what restride would write here, so it cannot tell what the code was before";
  }
  // A restored array that is refused says more than the text that it leaves.
  for (const Candidate &C : P.Candidates)
    if (C.refused() && llvm::any_of(Blocks, [&](const GeneratedBlock &B) { return isRecordOf(C, B); })) {
      A.Problem = "as an array of structs it would be refused: " + C.Refusals.front().Reason;
      return;
    }
}

static Attempt attempt(llvm::ArrayRef<GeneratedBlock> Blocks, bool UseNotes, const Sources &OnDisk, ReadAgain Read) {
  Attempt A;
  auto Fail = [&](llvm::Error E) {
    A.Problem = "the array cannot be put back: " + llvm::toString(std::move(E));
    return std::move(A);
  };
  llvm::Expected<Rewritten> Plain = restore(OnDisk, Blocks);
  if (!Plain)
    return Fail(Plain.takeError());
  if (UseNotes) {
    std::vector<std::string> Notes;
    for (const GeneratedBlock &B : Blocks)
      llvm::append_range(Notes, B.Before);
    Sources Now = sourcesOf(OnDisk, *Plain);
    llvm::Expected<Rewritten> Noted = applyNotes(Now, Notes);
    if (!Noted)
      return Fail(Noted.takeError());
    A.Text = compose(*Plain, Now, std::move(*Noted));
  } else {
    A.Text = std::move(*Plain);
  }
  llvm::Expected<ProgramReading> Reading = Read(changedFiles(*A.Text, OnDisk));
  if (!Reading)
    return Fail(Reading.takeError());
  A.Reading = std::move(*Reading);
  prove(A, Blocks, OnDisk);
  return A;
}

static Attempt attempt(llvm::ArrayRef<GeneratedBlock> Blocks, const Sources &OnDisk, ReadAgain Read) {
  bool Noted = llvm::any_of(Blocks, [](const GeneratedBlock &B) { return !B.Before.empty(); });
  Attempt A = attempt(Blocks, Noted, OnDisk, Read);
  if (A.Problem.empty() || !Noted)
    return A;
  // Notes may be about text that somebody changed.
  Attempt Plain = attempt(Blocks, false, OnDisk, Read);
  return Plain.Problem.empty() ? std::move(Plain) : std::move(A);
}

static Report::Candidate leftAlone(const GeneratedBlock &B, const Attempt &A, const Sources &OnDisk, const FileNames &Names) {
  const SourceFile &F = OnDisk.at(B.Mark.Begin);
  unsigned Line = OnDisk.text({F.Text.Begin, B.Mark.Begin}).count('\n') + 1;
  Report::Candidate Out;
  Out.Name = B.Record;
  Out.SourceLayout = B.Layout;
  Out.At = Out.ArrayAt = Names.place({F.Path, Line, 1});
  Out.Outcome = Report::Status::Refused;
  Location Where = A.Where.Line ? A.Where : Location{F.Path, Line, 1};
  Out.Refusals.push_back({"", Names.place(Where), "an earlier run made it " + B.Layout + "; " + A.Problem});
  return Out;
}

llvm::Expected<RestoredProgram> restoreProgram(ProgramReading OnDisk, const FileNames &Names, ReadAgain Read) {
  const Sources Text = OnDisk.Records.Text;
  RestoredProgram Out{std::move(OnDisk), {}, {}, {}};
  if (!Text.text().contains(GeneratedMark))
    return Out;
  std::vector<TextToken> Tokens = tokensOf(Text.text());
  std::vector<GeneratedBlock> Blocks;
  for (GeneratedBlock &B : generatedBlocks(Text.text(), Tokens))
    if (Text.at(B.Text.Begin).Editable && !B.Folded)
      Blocks.push_back(std::move(B));
  if (Blocks.empty())
    return Out;
  auto Take = [&](Attempt A) {
    Out.Reading = std::move(*A.Reading);
    Out.Text = std::move(*A.Text);
    Out.Found = std::move(A.Found);
  };
  Attempt All = attempt(Blocks, Text, Read);
  if (All.Problem.empty()) {
    Take(std::move(All));
    return Out;
  }
  if (Blocks.size() == 1) {
    Out.LeftAlone.push_back(leftAlone(Blocks.front(), All, Text, Names));
    return Out;
  }
  // As many as can be proved together.
  std::vector<GeneratedBlock> Good;
  for (const GeneratedBlock &B : Blocks) {
    Good.push_back(B);
    Attempt A = attempt(Good, Text, Read);
    if (A.Problem.empty()) {
      Take(std::move(A));
      continue;
    }
    Good.pop_back();
    Out.LeftAlone.push_back(leftAlone(B, A, Text, Names));
  }
  return Out;
}

} // namespace restride
