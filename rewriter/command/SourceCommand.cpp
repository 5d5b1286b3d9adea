#include "rewriter/command/SourceCommand.h"

#include "rewriter/command/NvccCommand.h"

#include "clang/Tooling/JSONCompilationDatabase.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace restride {
using namespace llvm;

static constexpr StringRef DatabaseName = "compile_commands.json";

/// The nearest database above \p File, or "".
static std::string nearestDatabase(StringRef File) {
  for (StringRef Folder = sys::path::parent_path(File); !Folder.empty(); Folder = sys::path::parent_path(Folder)) {
    SmallString<256> Path(Folder);
    sys::path::append(Path, DatabaseName);
    if (sys::fs::is_regular_file(Path))
      return Path.str().str();
  }
  return "";
}

static Error addFlags(SourceCommand &Command, ArrayRef<std::string> Args, FlagsOf Whose) {
  Expected<ClangFlags> Translated = translateFlags(Args, Command.Directory, Whose);
  if (!Translated)
    return Translated.takeError();
  append_range(Command.Flags, Translated->Flags);
  append_range(Command.Dropped, Translated->Dropped);
  append_range(Command.ReadFrom, Translated->OptionsFiles);
  if (!Translated->Archs.empty()) {
    Command.Archs = std::move(Translated->Archs);
    Command.Arch = std::move(Translated->Arch);
  }
  return Error::success();
}

using Database = clang::tooling::JSONCompilationDatabase;

static Expected<std::unique_ptr<Database>> loadDatabase(StringRef Path) {
  std::string Message;
  std::unique_ptr<Database> Loaded = Database::loadFromFile(Path, Message, clang::tooling::JSONCommandLineSyntax::AutoDetect);
  if (!Loaded)
    return createStringError("cannot read '" + Path + "': " + StringRef(Message).rtrim());
  return Loaded;
}

/// The database that -p names by its folder or itself.
static std::string databaseIn(StringRef BuildPath) {
  SmallString<256> Path(BuildPath);
  if (sys::fs::is_directory(Path))
    sys::path::append(Path, DatabaseName);
  return Path.str().str();
}

/// The first flag of one that the other lacks, or "".
static StringRef difference(ArrayRef<std::string> A, ArrayRef<std::string> B) {
  for (const auto &[Of, In] : {std::pair(A, B), std::pair(B, A)})
    for (const std::string &Flag : Of)
      if (!is_contained(In, Flag))
        return Flag;
  return "";
}

/// Takes the command from the database at \p Path. False where it does not name the file.
static Expected<bool> setFromDatabase(SourceCommand &Command, StringRef Path) {
  Expected<std::unique_ptr<Database>> Loaded = loadDatabase(Path);
  if (!Loaded)
    return Loaded.takeError();
  std::vector<clang::tooling::CompileCommand> Commands = (*Loaded)->getCompileCommands(Command.File);
  if (Commands.empty())
    return false;
  SmallString<256> Database(Path);
  if (std::error_code EC = sys::fs::make_absolute(Database))
    return createStringError(EC, "cannot find the working directory: " + EC.message());
  Command.ReadFrom.push_back(Database.str().str());
  const SourceCommand Empty = Command;
  for (const clang::tooling::CompileCommand &Entry : Commands) {
    SourceCommand Now = Empty;
    SmallString<256> Directory(Entry.Directory);
    sys::path::make_absolute(sys::path::parent_path(Database), Directory);
    sys::path::remove_dots(Directory, /*remove_dot_dot=*/true);
    Now.Directory = Directory.str().str();
    ArrayRef<std::string> Words = Entry.CommandLine;
    if (Words.empty())
      return createStringError("'" + Path + "' has an empty command for '" + Command.SpelledFile + "'");
    if (Error E = addFlags(Now, Words.drop_front(), compilerOf(Words.front())))
      return E;
    if (&Entry == &Commands.front())
      Command = std::move(Now);
    else if (Now.Flags != Command.Flags || Now.Directory != Command.Directory)
      Command.Conflict = ("'" + Command.SpelledFile + "' is compiled in two ways in '" + Path + "', " +
                          (Now.Flags == Command.Flags ? "in different folders"
                                                      : "with and without '" + difference(Now.Flags, Command.Flags) + "'"))
                             .str();
  }
  return true;
}

Expected<SourceCommand> commandFor(StringRef File, const FlagSources &Sources) {
  SourceCommand Command;
  Command.SpelledFile = File.str();
  Command.FirstErrorOnly = Sources.FirstErrorOnly;
  SmallString<256> Absolute(File), Current;
  if (std::error_code EC = sys::fs::make_absolute(Absolute))
    return createStringError(EC, "cannot find the working directory: " + EC.message());
  sys::path::remove_dots(Absolute, /*remove_dot_dot=*/false);
  Command.File = Absolute.str().str();
  if (std::error_code EC = sys::fs::current_path(Current))
    return createStringError(EC, "cannot find the working directory: " + EC.message());
  Command.Directory = Current.str().str();

  if (Sources.Fixed) {
    if (Error E = addFlags(Command, *Sources.Fixed, FlagsOf::Any))
      return E;
  } else {
    std::string Path = Sources.BuildPath.empty() ? nearestDatabase(Absolute) : databaseIn(Sources.BuildPath);
    if (!Path.empty()) {
      Expected<bool> Found = setFromDatabase(Command, Path);
      if (!Found)
        return Found.takeError();
      Command.InDatabase = *Found;
      // A database that was only found nearby need not know every file.
      if (!*Found && !Sources.BuildPath.empty() && !Sources.LacksAreFine)
        return createStringError("'" + Path + "' has no command for '" + File + "'");
    }
  }
  if (Error E = addFlags(Command, Sources.Extra, FlagsOf::Any))
    return E;
  return Command;
}

Expected<std::vector<std::string>> databaseFiles(StringRef BuildPath) {
  std::string Path = databaseIn(BuildPath);
  Expected<std::unique_ptr<Database>> Loaded = loadDatabase(Path);
  if (!Loaded)
    return Loaded.takeError();
  SmallString<256> Current;
  if (std::error_code EC = sys::fs::current_path(Current))
    return createStringError(EC, "cannot find the working directory: " + EC.message());
  std::vector<std::string> Out;
  for (StringRef File : (*Loaded)->getAllFiles()) {
    File.consume_front((Current + "/").str());
    Out.push_back(File.str());
  }
  llvm::sort(Out); // a hash table's order is none
  if (Out.empty())
    return createStringError("'" + Path + "' names no file");
  return Out;
}

} // namespace restride
