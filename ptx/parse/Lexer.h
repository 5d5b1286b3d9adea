// Splits PTX text into tokens. Words keep their dots and percent signs
// ("ld.global.f32", "%tid.x", ".reg"), because PTX gives those meaning only by
// position. Comments are dropped, except that `lineComment` returns the one that
// ends the current line: Clang prints inlined call sites only there.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace restride::ptx {

struct Token {
  enum Kind { End, Word, String, Punct, Bad } K = End;
  llvm::StringRef Text; ///< String: without the quotes, as written; Punct: one character
  unsigned Line = 1;    ///< 1-based
  bool is(char C) const { return K == Punct && Text[0] == C; }
  bool is(llvm::StringRef Word) const { return K == Token::Word && Text == Word; }
};

class Lexer {
public:
  explicit Lexer(llvm::StringRef Text) : Rest(Text) { advance(); }

  const Token &peek() const { return Current; }
  Token next() {
    Token T = Current;
    advance();
    return T;
  }
  /// Whether the punctuation \p C follows the next token.
  bool isBefore(char C) const;
  /// Consumes the next token if it is the punctuation \p C.
  bool take(char C);
  /// Consumes the next token if it is the word \p W.
  bool take(llvm::StringRef W);
  /// Text after `//` on the line of the last consumed token; empty: none.
  llvm::StringRef lineComment() const;
  /// Skips past the next \p C outside brackets of any kind. False: text ended.
  bool skipPast(char C);

private:
  void advance();
  void skipBlank();

  llvm::StringRef Rest; ///< after Current
  const char *LastEnd = nullptr;
  Token Current;
  unsigned Line = 1;
};

} // namespace restride::ptx
