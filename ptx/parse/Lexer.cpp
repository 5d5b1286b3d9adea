#include "ptx/parse/Lexer.h"

#include "llvm/ADT/StringExtras.h"

#include <array>

using namespace restride::ptx;
using llvm::StringRef;

/// By character; most of a text are these.
static constexpr std::array<bool, 256> WordChars = [] {
  std::array<bool, 256> Is{};
  for (unsigned C = 0; C < 256; ++C)
    Is[C] = (C >= '0' && C <= '9') || (C >= 'a' && C <= 'z') || (C >= 'A' && C <= 'Z') || C == '_' || C == '$' || C == '%' || C == '.';
  return Is;
}();

static bool isWordChar(char C) { return WordChars[uint8_t(C)]; }

/// Length of the word at the start of \p Text. "::" belongs to a word
/// (".L2::128B"); a single colon ends a label.
static size_t wordLength(StringRef Text) {
  size_t N = 0;
  while (N < Text.size()) {
    if (isWordChar(Text[N]))
      ++N;
    else if (N && Text.substr(N).starts_with("::"))
      N += 2;
    else
      break;
  }
  return N;
}

void Lexer::skipBlank() {
  while (!Rest.empty()) {
    if (llvm::isSpace(Rest[0])) {
      Line += Rest[0] == '\n';
      Rest = Rest.drop_front();
    } else if (Rest.starts_with("//")) {
      Rest = Rest.drop_until([](char C) { return C == '\n'; });
    } else if (Rest.starts_with("/*")) {
      size_t Close = Rest.find("*/", 2);
      size_t Length = Close == StringRef::npos ? Rest.size() : Close + 2;
      Line += Rest.take_front(Length).count('\n');
      Rest = Rest.drop_front(Length);
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  LastEnd = Current.Text.end();
  skipBlank();
  Current.Line = Line;
  if (Rest.empty()) {
    Current.K = Token::End;
    Current.Text = StringRef();
    return;
  }
  size_t Length = 1;
  if (Rest[0] == '"') {
    size_t Close = 1;
    while (Close < Rest.size() && Rest[Close] != '"')
      Close += Rest[Close] == '\\' ? 2 : 1;
    if (Close >= Rest.size())
      Close = StringRef::npos;
    Current.K = Close == StringRef::npos ? Token::Bad : Token::String;
    Current.Text = Rest.substr(1, Close == StringRef::npos ? 0 : Close - 1);
    Length = Close == StringRef::npos ? Rest.size() : Close + 1;
    Line += Rest.take_front(Length).count('\n');
  } else if (isWordChar(Rest[0])) {
    Length = wordLength(Rest);
    Current.K = Token::Word;
    Current.Text = Rest.take_front(Length);
  } else {
    Current.K = StringRef("{}[](),;:+-*/!@|<>=~&^#?").contains(Rest[0]) ? Token::Punct : Token::Bad;
    Current.Text = Rest.take_front(1);
  }
  Rest = Rest.drop_front(Length);
}

bool Lexer::isBefore(char C) const {
  Lexer Ahead = *this;
  Ahead.skipBlank();
  return Ahead.Rest.starts_with(C);
}

bool Lexer::take(char C) {
  if (!Current.is(C))
    return false;
  advance();
  return true;
}

bool Lexer::take(StringRef W) {
  if (!Current.is(W))
    return false;
  advance();
  return true;
}

StringRef Lexer::lineComment() const {
  if (!LastEnd)
    return StringRef();
  StringRef Line = StringRef(LastEnd, Rest.end() - LastEnd).take_until([](char C) { return C == '\n'; });
  size_t At = Line.find("//");
  return At == StringRef::npos ? StringRef() : Line.substr(At + 2).trim();
}

bool Lexer::skipPast(char C) {
  unsigned Depth = 0;
  while (Current.K != Token::End) {
    Token T = next();
    if (Depth == 0 && T.is(C))
      return true;
    if (T.is('{') || T.is('(') || T.is('['))
      ++Depth;
    else if ((T.is('}') || T.is(')') || T.is(']')) && Depth)
      --Depth;
  }
  return false;
}
