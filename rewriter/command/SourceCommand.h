// How each source file is compiled: from flags after "--" or from a
// compilation database, in Clang's spelling.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace restride {

struct SourceCommand {
  std::string File;                ///< absolute
  std::string SpelledFile;         ///< as the user typed it, for messages
  std::string Directory;           ///< where relative flags start, absolute
  std::vector<std::string> Flags;  ///< Clang's spelling; no compiler, input or output
  std::optional<std::string> Arch; ///< the newest GPU that the command names and Clang knows, "sm_90"
  std::vector<std::string> Archs;   ///< all that it names
  std::string Conflict; ///< not empty: the database has another way to compile the file, and this says which
  std::vector<std::string> ReadFrom; ///< the database and options files, absolute
  std::vector<std::string> Dropped; ///< flags of the command that Flags has no counterpart of
  bool InDatabase = false;         ///< a compilation database gave the flags
  bool FirstErrorOnly = false;     ///< errors of a parse are not printed; the first is in the llvm::Error
};

/// Code that no command names a GPU for is read for this one.
inline constexpr char DefaultArch[] = "sm_90";

struct FlagSources {
  std::optional<std::vector<std::string>> Fixed; ///< after "--"
  std::string BuildPath;                         ///< -p: folder of compile_commands.json, or the file
  std::vector<std::string> Extra;                ///< --extra-arg
  bool LacksAreFine = false;                     ///< -p need not have every file
  bool FirstErrorOnly = false;                   ///< as in SourceCommand
};

/// The command for \p File: from after "--", from -p, or from the nearest
/// compile_commands.json above the file; with none of them, no flags.
llvm::Expected<SourceCommand> commandFor(llvm::StringRef File, const FlagSources &Sources);

/// All files of the database that -p names, sorted, relative to the working
/// directory where they lie below it.
llvm::Expected<std::vector<std::string>> databaseFiles(llvm::StringRef BuildPath);

} // namespace restride
