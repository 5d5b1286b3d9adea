// Reads the instructions of a function body: guard, mnemonic, operands. Names
// are looked up in nested scopes, because inline assembly declares its own
// registers inside braces.
#pragma once

#include "ptx/parse/Lexer.h"
#include "ptx/parse/Module.h"

#include "llvm/ADT/StringMap.h"

namespace restride::ptx {

/// Register names of a function, by scope. Registers enter
/// Function::Registers when first used, so that `%r<1000>` costs nothing.
class RegisterScopes {
public:
  explicit RegisterScopes(Function &F) : F(F) { open(); }
  void open() { Scopes.emplace_back(); }
  void close() { Scopes.pop_back(); }
  size_t depth() const { return Scopes.size(); }
  /// \p Count 0: the one register \p Name; else Name0 ... Name(Count-1).
  void declare(llvm::StringRef Name, unsigned Count);
  /// Register number; -1: no such register.
  int find(llvm::StringRef Name);

private:
  struct Scope {
    llvm::StringMap<int> Number; ///< -1: declared, not used yet
    llvm::StringMap<unsigned> Ranges;
  };
  Function &F;
  std::vector<Scope> Scopes;
};

/// Reads one instruction, guard to semicolon. An unknown mnemonic gives
/// Opcode::Unknown, with its operands as far as they have a usual shape.
llvm::Error readInstruction(Lexer &L, RegisterScopes &Scopes, Instruction &I);

} // namespace restride::ptx
