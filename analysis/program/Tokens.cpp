#include "analysis/program/Tokens.h"

#include "clang/Basic/LangOptions.h"
#include "clang/Lex/Lexer.h"

#include "llvm/ADT/STLExtras.h"

namespace restride {

std::vector<TextToken> tokensOf(llvm::StringRef Text) {
  std::string Ended = Text.str(); // the lexer wants a zero behind it
  clang::LangOptions Options;
  Options.CPlusPlus = Options.CPlusPlus11 = Options.CPlusPlus14 = Options.CPlusPlus17 = Options.CUDA = true;
  Options.LineComment = Options.RawStringLiterals = Options.Digraphs = true;
  clang::Lexer Lexer(clang::SourceLocation(), Options, Ended.c_str(), Ended.c_str(), Ended.c_str() + Ended.size());
  std::vector<TextToken> Out;
  for (clang::Token T;;) {
    Lexer.LexFromRawLexer(T);
    if (T.is(clang::tok::eof))
      return Out;
    unsigned End = Lexer.getCurrentBufferOffset(), Begin = End - T.getLength();
    Out.push_back({{Begin, End}, Text.slice(Begin, End), T.is(clang::tok::raw_identifier)});
  }
}

size_t closing(llvm::ArrayRef<TextToken> Tokens, size_t Open) {
  unsigned Depth = 0;
  for (size_t I = Open; I < Tokens.size(); ++I) {
    llvm::StringRef T = Tokens[I].Text;
    if (T == "(" || T == "[" || T == "{")
      ++Depth;
    else if ((T == ")" || T == "]" || T == "}") && --Depth == 0)
      return I;
  }
  return Tokens.size();
}

bool sameTokens(llvm::StringRef A, llvm::StringRef B) {
  return llvm::equal(tokensOf(A), tokensOf(B), [](const TextToken &L, const TextToken &R) { return L.Text == R.Text; });
}

} // namespace restride
