#include "ptx/parse/ParseFunction.h"

#include "ptx/parse/Declarations.h"
#include "ptx/parse/Operands.h"
#include "ptx/parse/ParseError.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace restride::ptx;
using llvm::StringRef;

namespace {

class BodyReader {
public:
  BodyReader(Lexer &L, Locations &Locs, UnknownCounts &Unknown, Function &F)
      : L(L), Locs(Locs), Unknown(Unknown), F(F), Registers(F) {
    ParentScope.push_back(-1);
    OpenScopes.push_back(0);
  }
  llvm::Error read();

private:
  llvm::Error readStatement(bool &Done);
  llvm::Error readDirective();
  llvm::Error readLabel();
  llvm::Error declare();
  llvm::Error readInstructionHere();
  llvm::Error resolveTargets();
  /// Finds the label \p Name as seen from \p Scope; -1: none.
  int findLabel(StringRef Name, int Scope) const;

  Lexer &L;
  Locations &Locs;
  UnknownCounts &Unknown;
  Function &F;
  RegisterScopes Registers;

  // Labels are local to their braces too: the same inline assembly may be
  // printed twice. Scopes are numbered as they open.
  std::vector<int> ParentScope, OpenScopes;
  struct LabelKey {
    int Scope;
    unsigned Label; ///< index in Function::Labels
  };
  llvm::StringMap<std::vector<LabelKey>> LabelsNamed;
  std::vector<std::pair<int, unsigned>> ScopeOfBranch; ///< scope, line; one per branch in Body order
  llvm::StringMap<std::vector<std::string>> BranchTables;
};

} // namespace

llvm::Error BodyReader::declare() {
  std::vector<Declaration> Declarations;
  if (llvm::Error E = readDeclarations(L, Declarations))
    return E;
  for (const Declaration &D : Declarations) {
    if (D.IsRegister) {
      Registers.declare(D.Name, D.Count);
      continue;
    }
    // Every call declares param0, param1 ... anew in its own braces.
    auto Same = llvm::find_if(F.Variables, [&](const Variable &V) { return V.Name == D.Name && V.Mem == D.Mem; });
    if (Same == F.Variables.end()) {
      F.Variables.push_back(D.variable());
    } else {
      Same->Bytes = std::max(Same->Bytes, D.Bytes);
      Same->Align = std::max(Same->Align, D.Align);
    }
  }
  return llvm::Error::success();
}

llvm::Error BodyReader::readDirective() {
  StringRef Word = L.peek().Text;
  if (Word == ".loc") {
    L.next();
    return Locs.readLoc(L);
  }
  for (StringRef Declares : {".reg", ".param", ".local", ".shared", ".global", ".const"})
    if (Word == Declares)
      return declare();
  if (!L.skipPast(';')) // .pragma "nounroll";
    return errorAt(L.peek().Line, "';' expected after " + Word);
  return llvm::Error::success();
}

/// A label, or a named list: `table: .branchtargets a, b;`
llvm::Error BodyReader::readLabel() {
  Token Name = L.next();
  L.next(); // ':'
  if (L.take(".branchtargets")) {
    std::vector<std::string> &Table = BranchTables[Name.Text];
    do {
      Token Target = L.next();
      if (Target.K != Token::Word)
        return errorAt(Target.Line, "label expected, found '" + Target.Text + "'");
      Table.push_back(Target.Text.str());
    } while (L.take(','));
    return L.take(';') ? llvm::Error::success() : errorAt(L.peek().Line, "';' expected after .branchtargets");
  }
  if (L.peek().is(".callprototype") || L.peek().is(".calltargets")) {
    if (!L.skipPast(';'))
      return errorAt(Name.Line, "';' expected after " + Name.Text);
    return llvm::Error::success();
  }
  std::vector<LabelKey> &Same = LabelsNamed[Name.Text];
  std::string Unique = Name.Text.str();
  if (!Same.empty())
    Unique += "@" + std::to_string(Same.size());
  Same.push_back({OpenScopes.back(), unsigned(F.Labels.size())});
  F.Labels.emplace_back(std::move(Unique), unsigned(F.Body.size()));
  return llvm::Error::success();
}

llvm::Error BodyReader::readInstructionHere() {
  const unsigned Line = L.peek().Line;
  Instruction I;
  if (llvm::Error E = readInstruction(L, Registers, I))
    return E;
  Locs.stamp(I);
  if (I.Op == Opcode::Unknown)
    ++Unknown[I.Mnemonic];
  if (I.Op == Opcode::Bra || I.Op == Opcode::BrxIdx)
    ScopeOfBranch.emplace_back(OpenScopes.back(), Line);
  F.Body.push_back(std::move(I));
  return llvm::Error::success();
}

llvm::Error BodyReader::readStatement(bool &Done) {
  const Token &T = L.peek();
  switch (T.K) {
  case Token::End:
    return errorAt(T.Line, "'}' missing at the end of " + F.Name);
  case Token::Bad:
  case Token::String:
    return errorAt(T.Line, "unexpected '" + T.Text.take_front(40) + "'");
  case Token::Punct:
    if (L.take(';'))
      return llvm::Error::success();
    if (L.take('{')) {
      Registers.open();
      ParentScope.push_back(OpenScopes.back());
      OpenScopes.push_back(int(ParentScope.size()) - 1);
      return llvm::Error::success();
    }
    if (L.take('}')) {
      OpenScopes.pop_back();
      Done = OpenScopes.empty();
      if (!Done)
        Registers.close();
      return llvm::Error::success();
    }
    return readInstructionHere();
  case Token::Word:
    break;
  }
  if (T.Text.starts_with("."))
    return readDirective();
  return L.isBefore(':') ? readLabel() : readInstructionHere();
}

int BodyReader::findLabel(StringRef Name, int Scope) const {
  auto At = LabelsNamed.find(Name);
  if (At == LabelsNamed.end())
    return -1;
  for (int S = Scope; S >= 0; S = ParentScope[S])
    for (const LabelKey &K : At->second)
      if (K.Scope == S)
        return int(K.Label);
  return -1;
}

llvm::Error BodyReader::resolveTargets() {
  size_t Branch = 0;
  for (Instruction &I : F.Body) {
    if (I.Op != Opcode::Bra && I.Op != Opcode::BrxIdx)
      continue;
    auto [Scope, Line] = ScopeOfBranch[Branch++];
    std::vector<std::string> Targets{I.Target};
    if (I.Op == Opcode::BrxIdx) {
      auto Table = BranchTables.find(I.Target);
      if (Table == BranchTables.end())
        return errorAt(Line, "branch through the missing table '" + I.Target + "'");
      Targets = Table->second;
    }
    for (std::string &Target : Targets) {
      int Label = findLabel(Target, Scope);
      if (Label < 0)
        return errorAt(Line, "branch to the missing label '" + Target + "'");
      Target = F.Labels[Label].first;
    }
    if (I.Op == Opcode::BrxIdx)
      I.Targets = std::move(Targets);
    else
      I.Target = std::move(Targets[0]);
  }
  return llvm::Error::success();
}

llvm::Error BodyReader::read() {
  bool Done = false;
  while (!Done)
    if (llvm::Error E = readStatement(Done))
      return E;
  return resolveTargets();
}

/// Numbers after a performance directive: ".maxntid 256, 1, 1".
static std::vector<unsigned> readNumbers(Lexer &L) {
  std::vector<unsigned> Numbers;
  do {
    unsigned N = 0;
    if (L.peek().K != Token::Word || L.peek().Text.getAsInteger(10, N))
      break;
    Numbers.push_back(N);
    L.next();
  } while (L.take(','));
  return Numbers;
}

static void readTuning(Lexer &L, Function &F) {
  while (L.peek().K == Token::Word && L.peek().Text.starts_with(".")) {
    StringRef Word = L.next().Text;
    std::vector<unsigned> Numbers = readNumbers(L);
    unsigned Product = 1;
    for (unsigned N : Numbers)
      Product *= N;
    if (Numbers.empty()) {
      if (L.peek().K == Token::String) { // .pragma "...";
        L.next();
        L.take(';');
      }
    } else if (Word == ".maxntid" || Word == ".reqntid") {
      F.MaxThreads = Product;
    } else if (Word == ".minnctapersm") {
      F.MinBlocks = Numbers[0];
    } else if (Word == ".maxnreg") {
      F.MaxRegs = Numbers[0];
    }
  }
}

llvm::Error restride::ptx::readFunction(Lexer &L, Locations &Locs, UnknownCounts &Unknown, Function &F) {
  F.IsEntry = L.next().is(".entry");
  if (!F.IsEntry) {
    if (L.take(".attribute") && L.take('(') && !L.skipPast(')'))
      return errorAt(L.peek().Line, "unbalanced '('");
    if (llvm::Error E = readParameters(L, F.Results))
      return E;
  }
  Token Name = L.next();
  if (Name.K != Token::Word)
    return errorAt(Name.Line, "function name expected, found '" + Name.Text + "'");
  if (llvm::Error E = readParameters(L, F.Params))
    return E;
  readTuning(L, F);
  if (L.take(';')) {
    F = Function();
    return llvm::Error::success();
  }
  F.Name = Name.Text.str();
  if (!L.take('{'))
    return errorAt(L.peek().Line, "'{' expected, found '" + L.peek().Text.take_front(40) + "'");
  Locs.startFunction();
  return BodyReader(L, Locs, Unknown, F).read();
}
