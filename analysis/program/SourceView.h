// AST locations as byte ranges of the main file, and as lines for people.
#pragma once

#include "analysis/program/Candidate.h"

#include "clang/AST/ASTContext.h"
#include "llvm/ADT/StringRef.h"

namespace restride {

class SourceView {
public:
  explicit SourceView(const clang::ASTContext &Context);

  /// The text of \p R where it can be replaced: all of it written in the main
  /// file, at its spelling location where it is a macro argument. Nothing for
  /// text that a macro's body produces.
  std::optional<Range> range(clang::SourceRange R) const;
  Location where(clang::SourceLocation L) const;
  bool inMainFile(clang::SourceLocation L) const;
  /// Why text at \p L has no range: "is written by a macro's body, ..." or
  /// "stands in a header, ...".
  const char *whyNoRange(clang::SourceLocation L) const {
    return inMainFile(L) ? " is written by a macro's body, which would have to change" : " stands in a header, which stays as it is";
  }
  /// Neither a system header nor the compiler's own text.
  bool isUserCode(clang::SourceLocation L) const;
  llvm::StringRef text(Range R) const { return Buffer.substr(R.Begin, R.End - R.Begin); }
  llvm::StringRef buffer() const { return Buffer; }
  const clang::SourceManager &sourceManager() const { return Sources; }
  const clang::LangOptions &options() const { return Options; }

private:
  const clang::SourceManager &Sources;
  const clang::LangOptions &Options;
  llvm::StringRef Buffer;
};

} // namespace restride
