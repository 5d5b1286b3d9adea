// The text of a program: its files, one after the other, so that one offset
// says both the file and the place in it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace restride {

/// Bytes [Begin, End) of a program's text.
struct Range {
  unsigned Begin = 0, End = 0;
  bool contains(const Range &R) const { return Begin <= R.Begin && R.End <= End; }
  auto operator<=>(const Range &) const = default;
};

struct SourceFile {
  std::string Path; ///< absolute
  Range Text;
  bool Editable = false;
};

/// Bytes [Begin, End) of a file that the preprocessor skipped, from the '#' of
/// the directive before to the name of the directive after.
struct SkippedRange {
  std::string File; ///< absolute, without links
  unsigned Begin = 0, End = 0;
  auto operator<=>(const SkippedRange &) const = default;
};

/// Files keep their place once they are added.
class Sources {
public:
  /// Files below \p Root can be edited; all of them where it is empty.
  explicit Sources(std::string Root = "") : Root(std::move(Root)) {}

  const SourceFile &add(llvm::StringRef Path, llvm::StringRef Text);
  llvm::ArrayRef<SourceFile> files() const { return Files; }
  llvm::StringRef text() const { return Text; }
  llvm::StringRef text(Range R) const { return llvm::StringRef(Text).slice(R.Begin, R.End); }
  /// The file that \p Offset lies in; one of them must have it.
  const SourceFile &at(unsigned Offset) const;

private:
  std::string Root, Text;
  std::vector<SourceFile> Files;
};

} // namespace restride
