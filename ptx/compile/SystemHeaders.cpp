#include "ptx/compile/SystemHeaders.h"

#include "clang/Lex/DependencyDirectivesScanner.h"
#include "clang/Lex/Lexer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <map>
#include <set>

namespace restride::ptx {
using namespace llvm;
namespace scan = clang::dependency_directives_scan;

/// Headers of more directives than this are libraries, and not worth it.
static constexpr size_t MaxBytes = 1 << 20;

namespace {

class Flattener {
public:
  explicit Flattener(const UserFolders &Folders) : Folders(Folders) {}

  /// False where it cannot be done.
  bool addFile(const std::string &Path, const std::string &Text);
  std::optional<std::string> finish() const;

private:
  bool addDirective(const scan::Directive &D, StringRef Text, StringRef Folder, bool &IsOnce);
  bool addInclude(StringRef Line, StringRef Name, StringRef Folder);
  bool addUserFile(const std::string &Path);
  void addLine(StringRef Line) { Out += Line.ends_with("\n") ? Line.str() : (Line + "\n").str(); }
  void noteConditions(const std::string &Text);

  const UserFolders &Folders;
  std::string Out;
  std::set<std::string> Defined, Tested;         ///< macros of the user's files
  std::map<std::string, unsigned> Numbers;       ///< of files, by real path
  std::vector<std::string> Open;                 ///< files around the one at hand, real paths
  bool SeenUser = false, SystemAfterUser = false;
};

} // namespace

/// Names in #if, #ifdef and so on. The scanner leaves out those around text
/// without directives.
void Flattener::noteConditions(const std::string &Text) {
  clang::LangOptions Options;
  Options.CPlusPlus = Options.CPlusPlus11 = true;
  clang::Lexer L(clang::SourceLocation(), Options, Text.data(), Text.data(), Text.data() + Text.size());
  bool InCondition = false;
  clang::Token T;
  while (!L.LexFromRawLexer(T)) {
    if (T.isAtStartOfLine()) {
      InCondition = false;
      if (T.isNot(clang::tok::hash) || L.LexFromRawLexer(T) || T.isAtStartOfLine() || T.isNot(clang::tok::raw_identifier))
        continue;
      InCondition = T.getRawIdentifier().starts_with("if") || T.getRawIdentifier().starts_with("elif");
    } else if (InCondition && T.is(clang::tok::raw_identifier) && T.getRawIdentifier() != "defined") {
      Tested.insert(T.getRawIdentifier().str());
    }
  }
}

bool Flattener::addUserFile(const std::string &Path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer = MemoryBuffer::getFile(Path);
  SeenUser = true;
  return Buffer && addFile(Path, (*Buffer)->getBuffer().str());
}

bool Flattener::addInclude(StringRef Line, StringRef Name, StringRef Folder) {
  IncludedFile File = Folders.find(Name, Folder);
  if (File.What == IncludedFile::User)
    return addUserFile(File.Path);
  SystemAfterUser |= SeenUser;
  addLine(Line);
  return File.What == IncludedFile::System;
}

bool Flattener::addDirective(const scan::Directive &D, StringRef Text, StringRef Folder, bool &IsOnce) {
  if (D.Tokens.empty())
    return true;
  StringRef Line = Text.slice(D.Tokens.front().Offset, D.Tokens.back().getEnd());
  auto Token = [&](size_t I) { return I < D.Tokens.size() ? Text.slice(D.Tokens[I].Offset, D.Tokens[I].getEnd()) : ""; };
  std::string Name = Token(2).str(); // after '#' and the directive's own name
  switch (D.Kind) {
  case scan::pp_include:
    return addInclude(Line, Name, Folder);
  case scan::pp_define:
  case scan::pp_undef:
    Defined.insert(Name);
    Out += "#if defined(" + Name + ") && !defined(restride_user_" + Name + ")\n#error\n#endif\n#define restride_user_" + Name + "\n";
    [[fallthrough]];
  case scan::pp_if:
  case scan::pp_ifdef:
  case scan::pp_ifndef:
  case scan::pp_elif:
  case scan::pp_elifdef:
  case scan::pp_elifndef:
  case scan::pp_else:
  case scan::pp_endif:
    addLine(Line);
    return true;
  case scan::pp_pragma_once: {
    std::string Guard = "restride_once_" + std::to_string(Numbers.try_emplace(Open.back(), Numbers.size()).first->second);
    Out += "#ifndef " + Guard + "\n#define " + Guard + "\n";
    IsOnce = true;
    return true;
  }
  case scan::pp_pragma_system_header:
    return true;
  default: // #include_next, push_macro, modules
    return false;
  }
}

bool Flattener::addFile(const std::string &Path, const std::string &Text) {
  SmallString<256> Real;
  if (sys::fs::real_path(Path, Real))
    Real = Path;
  if (is_contained(Open, Real)) // its guard is what ends that
    return true;
  SmallVector<scan::Token> Tokens;
  SmallVector<scan::Directive> Directives;
  if (clang::scanSourceForDependencyDirectives(Text, Tokens, Directives))
    return false;
  noteConditions(Text);
  Open.push_back(Real.str().str());
  bool IsOnce = false;
  for (const scan::Directive &D : Directives)
    if (D.Kind != scan::pp_eof && D.Kind != scan::tokens_present_before_eof)
      if (!addDirective(D, Text, sys::path::parent_path(Path), IsOnce) || Out.size() > MaxBytes)
        return false;
  if (IsOnce)
    Out += "#endif\n";
  Open.pop_back();
  return true;
}

std::optional<std::string> Flattener::finish() const {
  if (!SystemAfterUser)
    return std::nullopt;
  std::string Before, After;
  for (const std::string &Name : Tested)
    Before += "#ifdef " + Name + "\n#define restride_had_" + Name + "\n#endif\n";
  for (const std::string &Name : Defined)
    After += "#ifdef restride_user_" + Name + "\n#undef " + Name + "\n#endif\n";
  for (const std::string &Name : Tested)
    After += "#if defined(" + Name + ") != defined(restride_had_" + Name + ")\n#error\n#endif\n";
  return Before + Out + After;
}

std::optional<std::string> systemHeaders(StringRef Text, StringRef MainFile, const UserFolders &Folders) {
  Flattener F(Folders);
  if (!F.addFile(MainFile.str(), Text.str()))
    return std::nullopt;
  return F.finish();
}

} // namespace restride::ptx
