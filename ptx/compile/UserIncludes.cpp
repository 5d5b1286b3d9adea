#include "ptx/compile/UserIncludes.h"

#include "clang/Frontend/CompilerInvocation.h"
#include "clang/Lex/DependencyDirectivesScanner.h"
#include "clang/Lex/HeaderSearchOptions.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace restride::ptx {
using namespace llvm;
namespace scan = clang::dependency_directives_scan;

UserFolders::UserFolders(const clang::CompilerInvocation &Invocation) {
  auto Absolute = [&](StringRef Path) {
    SmallString<256> Out(Path);
    sys::path::make_absolute(Invocation.getFileSystemOpts().WorkingDir, Out);
    return Out.str().str();
  };
  ArrayRef<clang::HeaderSearchOptions::Entry> Entries = Invocation.getHeaderSearchOpts().UserEntries;
  StringSet<> System; // one that is a system's too is only that
  for (const clang::HeaderSearchOptions::Entry &E : Entries)
    if (E.Group != clang::frontend::Quoted && E.Group != clang::frontend::Angled)
      System.insert(Absolute(E.Path));
  for (const clang::HeaderSearchOptions::Entry &E : Entries) {
    if (E.Group == clang::frontend::Quoted)
      Quoted.push_back(Absolute(E.Path));
    if (E.Group == clang::frontend::Angled && !System.contains(Absolute(E.Path)))
      Angled.push_back(Absolute(E.Path));
  }
}

std::optional<std::string> UserFolders::findIn(ArrayRef<std::string> Folders, StringRef Name) const {
  for (const std::string &Folder : Folders) {
    SmallString<256> Path(Folder);
    sys::path::append(Path, Name);
    if (sys::fs::exists(Path))
      return Path.str().str();
  }
  return std::nullopt;
}

IncludedFile UserFolders::find(StringRef Name, StringRef Folder) const {
  bool InQuotes = Name.starts_with("\"");
  if (!InQuotes && !Name.starts_with("<"))
    return {IncludedFile::Unknown, ""};
  Name = Name.drop_front().drop_back();
  std::optional<std::string> Found;
  if (sys::path::is_absolute(Name))
    Found = Name;
  if (!Found && InQuotes)
    Found = findIn(Folder.str(), Name);
  if (!Found && InQuotes)
    Found = findIn(Quoted, Name);
  if (!Found)
    Found = findIn(Angled, Name);
  if (!Found)
    return {};
  return {IncludedFile::User, *Found};
}

size_t firstUserInclude(StringRef Text, StringRef MainFile, const UserFolders &Folders) {
  SmallVector<scan::Token> Tokens;
  SmallVector<scan::Directive> Directives;
  if (clang::scanSourceForDependencyDirectives(Text, Tokens, Directives))
    return 0;
  for (const scan::Directive &D : Directives) {
    if (D.Kind != scan::pp_include && D.Kind != scan::pp_include_next && D.Kind != scan::pp_import)
      continue;
    // '#', "include", the name
    StringRef Name = D.Tokens.size() < 3 ? "" : Text.substr(D.Tokens[2].Offset, D.Tokens[2].Length);
    if (Folders.find(Name, sys::path::parent_path(MainFile)).What != IncludedFile::System)
      return D.Tokens.front().Offset;
  }
  return StringRef::npos;
}

} // namespace restride::ptx
