// Variables and parameters: `.global .align 4 .b8 table[64] = {...};`,
// `.param .u64 .ptr .align 1 p`, `.reg .b32 %r<10>`.
#pragma once

#include "ptx/parse/Lexer.h"
#include "ptx/parse/Module.h"

namespace restride::ptx {

/// One declarator with what was said before it.
struct Declaration {
  bool IsRegister = false;
  Space Mem = Space::None;
  Type Ty;
  std::string Name;
  uint64_t Bytes = 0; ///< whole size; 0: open array
  uint64_t Align = 1; ///< bytes
  bool IsPointer = false;
  unsigned Count = 0; ///< Name<Count>: that many registers Name0, Name1 ...; 0: Name itself
  std::vector<uint8_t> Initial;

  Variable variable() const { return {Name, Mem, Bytes, Align, Initial}; }
  Parameter parameter() const { return {Name, Ty, Bytes, Align, IsPointer}; }
};

/// Reads `.space .type name, name;` up to and including the semicolon.
llvm::Error readDeclarations(Lexer &L, std::vector<Declaration> &Out);

/// Reads the `(.param ..., ...)` of a function, if one follows.
llvm::Error readParameters(Lexer &L, std::vector<Parameter> &Out);

} // namespace restride::ptx
