// A text as the lines that have code, for comparing two texts.
#pragma once

#include "analysis/program/Tokens.h"

#include <string>

namespace restride {

/// A line's code, without blanks and comments around it.
struct CodeLine {
  Range Where; ///< from its first token to its last
  std::vector<std::string> Tokens;
  bool operator==(const CodeLine &Other) const { return Tokens == Other.Tokens; }
};

std::vector<CodeLine> codeLines(llvm::StringRef Text);

/// Lines [OldBegin, OldEnd) of one text that are [NewBegin, NewEnd) of the other.
struct Hunk {
  size_t OldBegin = 0, OldEnd = 0, NewBegin = 0, NewEnd = 0;
};

/// Where the two differ; nothing where they are too long to be compared.
std::vector<Hunk> differences(llvm::ArrayRef<CodeLine> Old, llvm::ArrayRef<CodeLine> New);

} // namespace restride
