#include "ptx/parse/Declarations.h"

#include "ptx/parse/OpcodeTable.h"
#include "ptx/parse/ParseError.h"

#include "llvm/Support/MathExtras.h"

using namespace restride::ptx;
using llvm::StringRef;

static llvm::Error readNumber(Lexer &L, uint64_t &Value) {
  Token T = L.next();
  if (T.K != Token::Word || T.Text.rtrim('U').getAsInteger(0, Value))
    return errorAt(T.Line, "number expected, found '" + T.Text + "'");
  return llvm::Error::success();
}

/// The words before the name. \p D keeps what matters of them.
static llvm::Error readSpecifiers(Lexer &L, Declaration &D, uint64_t &ElementBytes) {
  unsigned Vector = 1;
  while (L.peek().K == Token::Word && L.peek().Text.starts_with(".")) {
    StringRef Word = L.next().Text.drop_front();
    if (Word == "align") {
      uint64_t Align = 1;
      if (llvm::Error E = readNumber(L, Align))
        return E;
      // The alignment after .ptr is that of the data behind the pointer.
      if (!D.IsPointer)
        D.Align = Align;
    } else if (Word == "reg") {
      D.IsRegister = true;
    } else if (Word == "ptr") {
      D.IsPointer = true;
    } else if (Word == "attribute") {
      if (L.take('(') && !L.skipPast(')'))
        return errorAt(L.peek().Line, "unbalanced '('");
    } else if (Space S = parseSpace(Word); S != Space::None) {
      if (!D.IsPointer) // .ptr .global says where the pointer points
        D.Mem = S;
    } else if (Type T = parseType(Word); T.K != Type::None) {
      D.Ty = T;
    } else if (Word == "v2" || Word == "v4") {
      Vector = Word[1] - '0';
    }
  }
  ElementBytes = uint64_t(D.Ty.bytes()) * Vector;
  D.Align = std::max<uint64_t>({D.Align, 1, std::min<uint64_t>(ElementBytes, 16)});
  return llvm::Error::success();
}

/// Name, dimensions and register count.
static llvm::Error readDeclarator(Lexer &L, Declaration &D, uint64_t ElementBytes) {
  Token Name = L.next();
  if (Name.K != Token::Word)
    return errorAt(Name.Line, "name expected, found '" + Name.Text + "'");
  D.Name = Name.Text.str();
  D.Bytes = ElementBytes;
  while (L.take('[')) {
    uint64_t Dimension = 0;
    if (!L.peek().is(']'))
      if (llvm::Error E = readNumber(L, Dimension))
        return E;
    D.Bytes = llvm::SaturatingMultiply(D.Bytes, Dimension);
    if (!L.take(']'))
      return errorAt(L.peek().Line, "']' expected, found '" + L.peek().Text + "'");
  }
  if (L.take('<')) {
    uint64_t Count = 0;
    if (llvm::Error E = readNumber(L, Count))
      return E;
    D.Count = unsigned(std::min<uint64_t>(Count, ~0u));
    if (!L.take('>'))
      return errorAt(L.peek().Line, "'>' expected, found '" + L.peek().Text + "'");
  }
  return llvm::Error::success();
}

/// `0f3FC00000`, `0d...` or an integer; none: an address.
static std::optional<uint64_t> readWord(StringRef Text, bool Negative) {
  uint64_t Value = 0;
  if (Text.starts_with_insensitive("0f") || Text.starts_with_insensitive("0d")) {
    if (Text.drop_front(2).getAsInteger(16, Value))
      return std::nullopt;
  } else if (Text.rtrim('U').getAsInteger(0, Value))
    return std::nullopt;
  return Negative ? 0 - Value : Value;
}

/// `5` or `{1, 2, {3}}` up to and including the semicolon. Where it says more than numbers nothing is known.
static llvm::Error readInitialiser(Lexer &L, Declaration &D) {
  const unsigned Bytes = std::min(D.Ty.bytes(), 8u);
  constexpr size_t Most = 1 << 16; // of constant memory
  bool Negative = false, IsKnown = Bytes > 0;
  while (L.peek().K != Token::End && !L.peek().is(';')) {
    const Token T = L.next();
    if (T.K == Token::Word) {
      const std::optional<uint64_t> Word = readWord(T.Text, Negative);
      IsKnown &= Word && D.Initial.size() < std::min<uint64_t>(D.Bytes, Most);
      for (unsigned I = 0; IsKnown && I < Bytes; ++I)
        D.Initial.push_back(uint8_t(*Word >> (8 * I)));
    } else
      IsKnown &= T.is('{') || T.is('}') || T.is(',') || T.is('-');
    Negative = T.is('-');
  }
  if (!IsKnown)
    D.Initial.clear();
  if (!L.take(';'))
    return errorAt(L.peek().Line, "';' expected after an initialiser");
  return llvm::Error::success();
}

llvm::Error restride::ptx::readDeclarations(Lexer &L, std::vector<Declaration> &Out) {
  Declaration Common;
  uint64_t ElementBytes = 0;
  if (llvm::Error E = readSpecifiers(L, Common, ElementBytes))
    return E;
  do {
    Declaration D = Common;
    if (llvm::Error E = readDeclarator(L, D, ElementBytes))
      return E;
    Out.push_back(std::move(D));
  } while (L.take(','));
  if (L.take('='))
    return readInitialiser(L, Out.back());
  if (!L.take(';'))
    return errorAt(L.peek().Line, "';' expected, found '" + L.peek().Text + "'");
  return llvm::Error::success();
}

llvm::Error restride::ptx::readParameters(Lexer &L, std::vector<Parameter> &Out) {
  if (!L.take('('))
    return llvm::Error::success();
  if (L.take(')'))
    return llvm::Error::success();
  do {
    Declaration D;
    uint64_t ElementBytes = 0;
    if (llvm::Error E = readSpecifiers(L, D, ElementBytes))
      return E;
    if (llvm::Error E = readDeclarator(L, D, ElementBytes))
      return E;
    Out.push_back(D.parameter());
  } while (L.take(','));
  if (!L.take(')'))
    return errorAt(L.peek().Line, "')' expected, found '" + L.peek().Text + "'");
  return llvm::Error::success();
}
