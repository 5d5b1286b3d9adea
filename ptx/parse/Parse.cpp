// The outermost level of a PTX file: directives, variables, functions.
#include "ptx/parse/Declarations.h"
#include "ptx/parse/Lexer.h"
#include "ptx/parse/Locations.h"
#include "ptx/parse/Module.h"
#include "ptx/parse/ParseError.h"
#include "ptx/parse/ParseFunction.h"

#include "llvm/ADT/StringSet.h"

using namespace restride::ptx;
using llvm::StringRef;

namespace {

class ModuleReader {
public:
  explicit ModuleReader(StringRef Text) : L(Text) {}
  llvm::Expected<Module> read();

private:
  llvm::Error readStatement();
  llvm::Error readVariables();
  llvm::Error skipSection();
  llvm::Error addFunction();
  void listVariables();

  Lexer L;
  Module M;
  Locations Locs;
  UnknownCounts Unknown;
};

} // namespace

llvm::Error ModuleReader::readVariables() {
  std::vector<Declaration> Declarations;
  if (llvm::Error E = readDeclarations(L, Declarations))
    return E;
  for (const Declaration &D : Declarations)
    M.Variables.push_back(D.variable());
  return llvm::Error::success();
}

/// Debug information; the locations that matter are in .loc.
llvm::Error ModuleReader::skipSection() {
  const unsigned Line = L.peek().Line;
  if (!L.skipPast('{') || !L.skipPast('}'))
    return errorAt(Line, "unbalanced braces in a .section");
  return llvm::Error::success();
}

llvm::Error ModuleReader::addFunction() {
  Function F;
  if (llvm::Error E = readFunction(L, Locs, Unknown, F))
    return E;
  if (!F.Name.empty())
    M.Functions.push_back(std::move(F));
  return llvm::Error::success();
}

llvm::Error ModuleReader::readStatement() {
  const Token &T = L.peek();
  if (T.is(';')) {
    L.next();
    return llvm::Error::success();
  }
  if (T.K != Token::Word || !T.Text.starts_with("."))
    return errorAt(T.Line, "directive expected, found '" + T.Text.take_front(40) + "'");
  StringRef Word = T.Text;
  if (Word == ".entry" || Word == ".func")
    return addFunction();
  if (Word == ".global" || Word == ".const" || Word == ".shared" || Word == ".local" || Word == ".param")
    return readVariables();
  const unsigned Line = L.next().Line;
  if (Word == ".visible" || Word == ".extern" || Word == ".weak" || Word == ".common")
    return llvm::Error::success();
  if (Word == ".file")
    return Locs.readFile(L, M);
  if (Word == ".loc")
    return Locs.readLoc(L);
  if (Word == ".section")
    return skipSection();
  if (Word == ".target")
    M.Target = L.peek().Text.str();
  if (Word == ".alias" || Word == ".pragma" || Word == ".tex") {
    if (!L.skipPast(';'))
      return errorAt(Line, "';' expected after " + Word);
    return llvm::Error::success();
  }
  if (Word != ".version" && Word != ".target" && Word != ".address_size")
    return errorAt(Line, "unknown directive '" + Word.take_front(40) + "'");
  do
    L.next();
  while (L.take(','));
  return llvm::Error::success();
}

/// Functions know the variables of the module that they mention: .shared arrays take
/// from their shared memory, exactly as a function's own do.
void ModuleReader::listVariables() {
  llvm::StringMap<const Variable *> Module;
  for (const Variable &V : M.Variables)
    if (V.Mem == Space::Shared || V.Mem == Space::Const || !V.Initial.empty())
      Module[V.Name] = &V;
  if (Module.empty())
    return;
  for (Function &F : M.Functions) {
    llvm::StringSet<> Listed;
    auto Mention = [&](const Operand &Op) {
      auto At = Op.Name.empty() ? Module.end() : Module.find(Op.Name);
      if (At != Module.end() && Listed.insert(Op.Name).second)
        F.Variables.push_back(*At->second);
    };
    for (const Instruction &I : F.Body) {
      for (const Operand &Op : I.Src)
        Mention(Op);
      for (const Operand &Op : I.Dest)
        Mention(Op);
      if (I.Addr)
        Mention(*I.Addr);
    }
  }
}

llvm::Expected<Module> ModuleReader::read() {
  while (L.peek().K != Token::End)
    if (llvm::Error E = readStatement())
      return E;
  Locs.resolveNames(M);
  listVariables();
  for (const auto &[Mnemonic, Count] : Unknown)
    M.Warnings.push_back(std::to_string(Count) + (Count == 1 ? " instruction" : " instructions") +
                         " not understood: " + Mnemonic);
  return std::move(M);
}

llvm::Expected<Module> restride::ptx::parse(StringRef Text) { return ModuleReader(Text).read(); }
