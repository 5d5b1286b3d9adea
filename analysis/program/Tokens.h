// C++ text as tokens, without blanks and comments.
#pragma once

#include "analysis/program/Sources.h"

namespace restride {

struct TextToken {
  Range Where;
  llvm::StringRef Text;
  bool Word = false; ///< an identifier or a keyword
  bool operator==(llvm::StringRef Other) const { return Text == Other; }
};

/// All tokens of \p Text, whose parts they name; it may hold several files.
std::vector<TextToken> tokensOf(llvm::StringRef Text);

/// The bracket that closes the one at \p Open: "(", "[" or "{"; the number of
/// tokens where there is none.
size_t closing(llvm::ArrayRef<TextToken> Tokens, size_t Open);

/// Both are the same to a compiler.
bool sameTokens(llvm::StringRef A, llvm::StringRef B);

} // namespace restride
