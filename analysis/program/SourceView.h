// AST locations of one translation unit as ranges of the program's text, and
// as lines for people.
#pragma once

#include "analysis/program/Candidate.h"

#include "clang/AST/ASTFwd.h"
#include "clang/Basic/SourceLocation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringRef.h"

namespace clang {
class ASTContext;
class LangOptions;
class SourceManager;
} // namespace clang

namespace restride {

/// Where something stands, the same in every translation unit. What macros
/// write has two places.
struct Place {
  unsigned Expansion = 0, Spelling = 0;
  auto operator<=>(const Place &) const = default;
};

class SourceView {
public:
  SourceView(const clang::ASTContext &Context, Sources &Files);

  /// The text of \p R where it can be replaced: all of it written in one file
  /// that can be edited, at its spelling location where it is a macro argument.
  /// Nothing for text that a macro's body produces.
  std::optional<Range> range(clang::SourceRange R) const;
  /// Of user code.
  Place place(clang::SourceLocation L) const;
  Location where(clang::SourceLocation L) const;
  bool inMainFile(clang::SourceLocation L) const;
  bool isEditable(clang::SourceLocation L) const;
  /// Why text at \p L has no range: "is written by a macro's body, ..." or
  /// "stands in a header, ...".
  const char *whyNoRange(clang::SourceLocation L) const {
    return isEditable(L) ? " is written by a macro's body, which would have to change" : " stands in a header, which stays as it is";
  }
  /// Neither a system header nor the compiler's own text.
  bool isUserCode(clang::SourceLocation L) const;
  /// The user's files that this unit reads, the main file first, as indices.
  std::vector<size_t> files() const;
  llvm::StringRef text(Range R) const { return Files.text(R); }
  llvm::StringRef buffer() const { return Files.text(); }
  const clang::SourceManager &sourceManager() const { return Manager; }
  const clang::LangOptions &options() const { return Options; }

private:
  const SourceFile *file(clang::FileID F) const;

  const clang::SourceManager &Manager;
  const clang::LangOptions &Options;
  Sources &Files;
  llvm::DenseMap<clang::FileID, size_t> Known; ///< index in Files
};

} // namespace restride
