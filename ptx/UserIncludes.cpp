#include "ptx/UserIncludes.h"

#include "clang/Basic/TokenKinds.h"
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

namespace {

/// Where Clang looks for the user's headers, in its order.
struct UserFolders {
  std::vector<std::string> Quoted, Angled;
};

} // namespace

static UserFolders userFolders(StringRef MainFile, const clang::CompilerInvocation &Invocation) {
  auto Absolute = [&](StringRef Path) {
    SmallString<256> Out(Path);
    sys::path::make_absolute(Invocation.getFileSystemOpts().WorkingDir, Out);
    return Out.str().str();
  };
  UserFolders Out;
  Out.Quoted.push_back(Absolute(sys::path::parent_path(MainFile)));
  // A folder that is a system's too is only that.
  StringSet<> System;
  for (const clang::HeaderSearchOptions::Entry &E : Invocation.getHeaderSearchOpts().UserEntries)
    if (E.Group != clang::frontend::Quoted && E.Group != clang::frontend::Angled)
      System.insert(Absolute(E.Path));
  for (const clang::HeaderSearchOptions::Entry &E : Invocation.getHeaderSearchOpts().UserEntries) {
    if (E.Group == clang::frontend::Quoted)
      Out.Quoted.push_back(Absolute(E.Path));
    if (E.Group == clang::frontend::Angled && !System.contains(Absolute(E.Path)))
      Out.Angled.push_back(Absolute(E.Path));
  }
  return Out;
}

static bool existsIn(ArrayRef<std::string> Folders, StringRef Name) {
  return any_of(Folders, [&](StringRef Folder) {
    SmallString<256> Path(Folder);
    sys::path::append(Path, Name);
    return sys::fs::exists(Path);
  });
}

/// \p Name with its quotes or angle brackets, or something else.
static bool isUserHeader(StringRef Name, const UserFolders &Folders) {
  StringRef Plain = Name.drop_front().drop_back();
  if (Name.starts_with("<"))
    return existsIn(Folders.Angled, Plain);
  if (Name.starts_with("\""))
    return sys::path::is_absolute(Plain) || existsIn(Folders.Quoted, Plain) || existsIn(Folders.Angled, Plain);
  return true;
}

size_t firstUserInclude(StringRef Text, StringRef MainFile, const clang::CompilerInvocation &Invocation) {
  SmallVector<scan::Token> Tokens;
  SmallVector<scan::Directive> Directives;
  if (clang::scanSourceForDependencyDirectives(Text, Tokens, Directives))
    return 0;
  UserFolders Folders = userFolders(MainFile, Invocation);
  for (const scan::Directive &D : Directives) {
    if (D.Kind != scan::pp_include && D.Kind != scan::pp_include_next && D.Kind != scan::pp_import)
      continue;
    // '#', "include", the name
    if (D.Tokens.size() < 3 || isUserHeader(Text.substr(D.Tokens[2].Offset, D.Tokens[2].Length), Folders))
      return D.Tokens.front().Offset;
  }
  return StringRef::npos;
}

} // namespace restride::ptx
