#include "rewriter/views/Diff.h"

#include "ptx/compile/TemporaryFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Program.h"

namespace restride {
using namespace llvm;

/// What `diff` prints with \p Options.
static Expected<std::string> runDiff(const Report::Change &Change, ArrayRef<StringRef> Options) {
  ErrorOr<std::string> Diff = sys::findProgramByName("diff");
  if (!Diff)
    return createStringError("cannot find the program 'diff'");
  Expected<TemporaryFile> Before = TemporaryFile::create("before", Change.Before);
  if (!Before)
    return Before.takeError();
  Expected<TemporaryFile> After = TemporaryFile::create("after", Change.After);
  if (!After)
    return After.takeError();
  Expected<TemporaryFile> Out = TemporaryFile::create("diff");
  if (!Out)
    return Out.takeError();

  std::vector<StringRef> Args{*Diff};
  append_range(Args, Options);
  Args.insert(Args.end(), {Before->path(), After->path()});
  std::optional<StringRef> Redirects[] = {StringRef(), Out->path(), std::nullopt};
  std::string Message;
  int Status = sys::ExecuteAndWait(*Diff, Args, /*Env=*/std::nullopt, Redirects, /*SecondsToWait=*/0,
                                   /*MemoryLimit=*/0, &Message);
  if (Status < 0 || Status > 1) // 1: the files differ
    return createStringError("'" + *Diff + "' failed on '" + Change.File + "' " + Message);
  return Out->read();
}

Expected<std::string> unifiedDiff(const Report::Change &Change) {
  std::string Name = StringRef(Change.Spelled.empty() ? Change.File : Change.Spelled).ltrim('/').str();
  std::string Old = "a/" + Name, New = "b/" + Name;
  return runDiff(Change, {"-u", "--label", Old, "--label", New});
}

/// Where each line begins, and where the text ends.
static std::vector<size_t> lineStarts(StringRef Text) {
  std::vector<size_t> Out{0};
  for (size_t At = Text.find('\n'); At != StringRef::npos && At + 1 < Text.size(); At = Text.find('\n', At + 1))
    Out.push_back(At + 1);
  Out.push_back(Text.size());
  return Out;
}

Expected<std::vector<Hunk>> hunks(const Report::Change &Change) {
  // One line for each: first and number of its lines, before and after.
  Expected<std::string> Groups =
      runDiff(Change, {"--unchanged-group-format=", "--old-group-format=%df %dn 0 0%c'\\012'",
                       "--new-group-format=%df 0 %dF %dN%c'\\012'", "--changed-group-format=%df %dn %dF %dN%c'\\012'"});
  if (!Groups)
    return Groups.takeError();
  std::vector<size_t> Old = lineStarts(Change.Before), New = lineStarts(Change.After);
  std::vector<Hunk> Out;
  StringRef Rest = *Groups;
  while (!Rest.empty()) {
    size_t First, Count, NewFirst, NewCount;
    for (size_t *Number : {&First, &Count, &NewFirst, &NewCount}) {
      Rest = Rest.ltrim();
      if (Rest.consumeInteger(10, *Number))
        return createStringError("'diff' printed what is no group of lines for '" + Change.File + "'");
    }
    Rest = Rest.ltrim();
    size_t Begin = Old[First - 1], NewBegin = NewCount ? New[NewFirst - 1] : 0;
    Out.push_back({Begin, Old[First - 1 + Count] - Begin, NewCount ? Change.After.substr(NewBegin, New[NewFirst - 1 + NewCount] - NewBegin) : ""});
  }
  return Out;
}

static raw_ostream::Colors colorOf(StringRef Line) {
  if (Line.starts_with("@@"))
    return raw_ostream::CYAN;
  return Line.starts_with("+") ? raw_ostream::GREEN : raw_ostream::RED;
}

void printDiff(StringRef Diff, raw_ostream &OS) {
  if (!OS.has_colors()) {
    OS << Diff;
    return;
  }
  while (!Diff.empty()) {
    auto [Line, Rest] = Diff.split('\n');
    Diff = Rest;
    bool Plain = Line.empty() || Line.starts_with(" ") || Line.starts_with("\\");
    if (!Plain)
      OS.changeColor(colorOf(Line), Line.starts_with("---") || Line.starts_with("+++"));
    OS << Line;
    if (!Plain)
      OS.resetColor();
    OS << '\n';
  }
}

} // namespace restride
