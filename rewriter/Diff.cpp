#include "rewriter/Diff.h"

#include "ptx/TemporaryFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Program.h"

namespace restride {
using namespace llvm;

Expected<std::string> unifiedDiff(const Report::Change &Change) {
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

  std::string Name = StringRef(Change.Spelled.empty() ? Change.File : Change.Spelled).ltrim('/').str();
  std::string Old = "a/" + Name, New = "b/" + Name;
  StringRef Args[] = {*Diff, "-u", "--label", Old, "--label", New, Before->path(), After->path()};
  std::optional<StringRef> Redirects[] = {StringRef(), Out->path(), std::nullopt};
  std::string Message;
  int Status = sys::ExecuteAndWait(*Diff, Args, /*Env=*/std::nullopt, Redirects, /*SecondsToWait=*/0,
                                   /*MemoryLimit=*/0, &Message);
  if (Status < 0 || Status > 1) // 1: the files differ
    return createStringError("'" + *Diff + "' failed on '" + Change.File + "' " + Message);
  return Out->read();
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
