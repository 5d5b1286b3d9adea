#include "ptx/parse/Operands.h"

#include "ptx/parse/OpcodeTable.h"
#include "ptx/parse/ParseError.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <bit>

using namespace restride::ptx;
using llvm::StringRef;

void RegisterScopes::declare(StringRef Name, unsigned Count) {
  if (Count)
    Scopes.back().Ranges[Name] = Count;
  else
    Scopes.back().Number[Name] = -1;
}

int RegisterScopes::find(StringRef Name) {
  size_t Length = Name.size();
  while (Length && llvm::isDigit(Name[Length - 1]))
    --Length;
  const StringRef Prefix = Name.take_front(Length);
  unsigned Index = 0;
  const bool Numbered = !Name.substr(Prefix.size()).getAsInteger(10, Index);
  for (Scope &S : llvm::reverse(Scopes)) {
    auto At = S.Number.find(Name);
    if (At == S.Number.end()) {
      auto Range = S.Ranges.find(Prefix);
      if (!Numbered || Range == S.Ranges.end() || Index >= Range->second)
        continue;
      At = S.Number.try_emplace(Name, -1).first;
    }
    if (At->second < 0) {
      At->second = int(F.Registers.size());
      F.Registers.push_back(Name.str());
    }
    return At->second;
  }
  return -1;
}

namespace {

class InstructionReader {
public:
  InstructionReader(Lexer &L, RegisterScopes &Scopes, Instruction &I) : L(L), Scopes(Scopes), I(I) {}
  llvm::Error read();

private:
  llvm::Error readGuard();
  llvm::Error readOperands(bool HasResult);
  llvm::Error readOperand(bool IsResult);
  llvm::Error readGroup(std::vector<Operand> &Out);
  llvm::Error readAddress(Operand &Out);
  llvm::Error readScalar(Operand &Out);
  llvm::Error readCall();
  llvm::Error readList(std::vector<Operand> &Out);
  void placeAddress(Operand Address);
  bool readNumber(StringRef Word, bool Negative, Operand &Out);
  llvm::Error unexpected(StringRef Wanted) {
    return errorAt(L.peek().Line, Wanted + " expected, found '" + L.peek().Text.take_front(40) + "'");
  }

  Lexer &L;
  RegisterScopes &Scopes;
  Instruction &I;
};

} // namespace

llvm::Error InstructionReader::readGuard() {
  if (!L.take('@'))
    return llvm::Error::success();
  I.GuardNegated = L.take('!');
  I.Guard = L.peek().K == Token::Word ? Scopes.find(L.peek().Text) : -1;
  if (I.Guard < 0)
    return unexpected("predicate register");
  L.next();
  return llvm::Error::success();
}

bool InstructionReader::readNumber(StringRef Word, bool Negative, Operand &Out) {
  if (Word.empty() || !llvm::isDigit(Word[0]))
    return false;
  uint64_t Bits = 0;
  if ((Word.size() == 10 && Word.starts_with_insensitive("0f")) ||
      (Word.size() == 18 && Word.starts_with_insensitive("0d"))) {
    if (Word.drop_front(2).getAsInteger(16, Bits))
      return false;
    const bool Single = Word.size() == 10;
    if (Negative)
      Bits ^= Single ? 1ull << 31 : 1ull << 63;
    Out.K = Operand::FloatImmediate;
    Out.Imm = int64_t(Bits);
    return true;
  }
  if (!Word.rtrim('U').getAsInteger(0, Bits)) {
    Out.K = Operand::Immediate;
    Out.Imm = int64_t(Negative ? 0 - Bits : Bits);
    return true;
  }
  double Value = 0;
  if (Word.getAsDouble(Value))
    return false;
  Out.K = Operand::FloatImmediate;
  Out.Imm = std::bit_cast<int64_t>(Negative ? -Value : Value);
  return true;
}

llvm::Error InstructionReader::readScalar(Operand &Out) {
  const bool Negative = L.take('-');
  if (!Negative)
    Out.Negated = L.take('!');
  if (L.peek().K != Token::Word)
    return unexpected("operand");
  StringRef Word = L.peek().Text;
  if (llvm::isDigit(Word[0])) {
    if (!readNumber(Word, Negative, Out))
      return unexpected("number");
  } else if (Word == "_") {
    Out.K = Operand::Register;
  } else if (Word == "WARP_SZ") {
    Out.K = Operand::Immediate;
    Out.Imm = 32;
  } else if (int Reg = Scopes.find(Word); Reg >= 0) {
    Out.K = Operand::Register;
    Out.Reg = Reg;
  } else {
    Out.K = Operand::Symbol;
    Out.Name = Word.str();
  }
  L.next();
  // A symbol may carry an offset: mov.u64 %rd1, table+8.
  if (Out.K == Operand::Symbol && L.take('+')) {
    Operand Offset;
    if (!readNumber(L.peek().Text, false, Offset))
      return unexpected("offset");
    Out.Imm = Offset.Imm;
    L.next();
  }
  return llvm::Error::success();
}

/// After '['. Texture coordinates and the like, after a comma, are skipped.
llvm::Error InstructionReader::readAddress(Operand &Out) {
  Operand Base;
  if (llvm::Error E = readScalar(Base))
    return E;
  Out.K = Operand::Address;
  Out.Reg = Base.K == Operand::Register ? Base.Reg : -1;
  Out.Name = Base.Name;
  if (Base.K != Operand::Register)
    Out.Imm = Base.Imm;
  while (L.peek().is('+') || L.peek().is('-')) {
    bool Negative = L.next().is('-');
    Negative ^= L.take('-'); // Clang prints [%rd1+-4]
    Operand Offset;
    if (!readNumber(L.peek().Text, Negative, Offset))
      return unexpected("offset");
    Out.Imm = int64_t(uint64_t(Out.Imm) + uint64_t(Offset.Imm));
    L.next();
  }
  if (L.peek().is(',') ? !L.skipPast(']') : !L.take(']'))
    return unexpected("']'");
  return llvm::Error::success();
}

/// A scalar, {vector}, or a|b.
llvm::Error InstructionReader::readGroup(std::vector<Operand> &Out) {
  if (L.take('{')) {
    do {
      Out.emplace_back();
      if (llvm::Error E = readScalar(Out.back()))
        return E;
    } while (L.take(','));
    return L.take('}') ? llvm::Error::success() : unexpected("'}'");
  }
  do {
    Out.emplace_back();
    if (llvm::Error E = readScalar(Out.back()))
      return E;
  } while (L.take('|'));
  return llvm::Error::success();
}

void InstructionReader::placeAddress(Operand Address) {
  if (I.Op == Opcode::CpAsync && !I.Addr && I.Dest.empty())
    I.Dest.push_back(std::move(Address)); // the shared side comes first
  else if (!I.Addr)
    I.Addr = std::move(Address);
  else
    I.Src.push_back(std::move(Address));
}

/// One operand between commas.
llvm::Error InstructionReader::readOperand(bool IsResult) {
  if (!L.take('['))
    return readGroup(IsResult ? I.Dest : I.Src);
  Operand Address;
  if (llvm::Error E = readAddress(Address))
    return E;
  placeAddress(std::move(Address));
  return llvm::Error::success();
}

llvm::Error InstructionReader::readOperands(bool HasResult) {
  if (L.take(';'))
    return llvm::Error::success();
  bool First = true;
  do {
    if (llvm::Error E = readOperand(First && HasResult))
      return E;
    First = false;
  } while (L.take(','));
  return L.take(';') ? llvm::Error::success() : unexpected("';'");
}

/// "(a, b)", the opening parenthesis already taken.
llvm::Error InstructionReader::readList(std::vector<Operand> &Out) {
  if (L.take(')'))
    return llvm::Error::success();
  do {
    Out.emplace_back();
    if (llvm::Error E = readScalar(Out.back()))
      return E;
  } while (L.take(','));
  return L.take(')') ? llvm::Error::success() : unexpected("')'");
}

/// call (results), callee, (arguments), prototype;
llvm::Error InstructionReader::readCall() {
  if (L.take('(')) {
    if (llvm::Error E = readList(I.Dest))
      return E;
    if (!L.take(','))
      return unexpected("','");
  }
  Operand Callee;
  if (llvm::Error E = readScalar(Callee))
    return E;
  I.Target = Callee.Name;
  if (L.take(',')) {
    if (L.take('(')) {
      if (llvm::Error E = readList(I.Src))
        return E;
      if (L.take(','))
        L.next(); // prototype
    } else {
      L.next();
    }
  }
  return L.take(';') ? llvm::Error::success() : unexpected("';'");
}

llvm::Error InstructionReader::read() {
  if (llvm::Error E = readGuard())
    return E;
  if (L.peek().K != Token::Word || !llvm::isAlpha(L.peek().Text[0]))
    return unexpected("instruction");
  I.Mnemonic = L.next().Text.str();
  const OpcodeForm Form = decodeMnemonic(I.Mnemonic);
  I.Op = Form.Op;
  I.Ty = Form.Ty;
  I.SrcTy = Form.SrcTy;
  I.Mem = Form.Mem;
  I.Vector = Form.Vector;
  I.Compare = Form.Compare.str();

  if (I.Op == Opcode::Call)
    return readCall();
  if (I.Op == Opcode::Unknown) {
    // Its operands may have any shape; keep them when they read as usual ones.
    Lexer Start = L;
    if (llvm::Error E = readOperands(/*HasResult=*/true)) {
      llvm::consumeError(std::move(E)); // reported as an unknown instruction
      L = Start;
      I.Dest.clear();
      I.Src.clear();
      I.Addr.reset();
      if (!L.skipPast(';'))
        return unexpected("';'");
    }
    return llvm::Error::success();
  }
  if (llvm::Error E = readOperands(Form.HasResult))
    return E;
  if (I.Op == Opcode::Bra && I.Src.size() == 1) {
    I.Target = I.Src[0].Name;
    I.Src.clear();
  }
  if (I.Op == Opcode::BrxIdx && I.Src.size() == 2) {
    I.Target = I.Src[1].Name;
    I.Src.pop_back();
  }
  if (I.Op == Opcode::CpAsync && I.Addr && !I.Src.empty() && I.Src[0].K == Operand::Immediate)
    I.Ty = I.SrcTy = {Type::Untyped, unsigned(I.Src[0].Imm & 0xff) * 8};
  return llvm::Error::success();
}

llvm::Error restride::ptx::readInstruction(Lexer &L, RegisterScopes &Scopes, Instruction &I) {
  return InstructionReader(L, Scopes, I).read();
}
