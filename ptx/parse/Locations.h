// Source locations of instructions: .file, .loc, and the chain of inlined call
// sites. nvcc spells a call site as `inlined_at` of the .loc and lists the chain
// one directive per level; Clang prints the whole chain only in the comment
// after the directive, by file name.
#pragma once

#include "ptx/parse/Lexer.h"
#include "ptx/parse/Module.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <tuple>

namespace restride::ptx {

class Locations {
public:
  /// Reads what follows `.file`.
  llvm::Error readFile(Lexer &L, Module &M);
  /// Reads what follows `.loc`.
  llvm::Error readLoc(Lexer &L);
  /// Locations do not carry over from one function to the next.
  void startFunction();
  void stamp(Instruction &I) const;
  /// Gives call sites named by Clang's comments their file numbers. Call once
  /// all of the text is read, as .file directives come last.
  void resolveNames(Module &M) const;

private:
  using Position = std::tuple<unsigned, unsigned, unsigned>;
  void readComment(llvm::StringRef Comment);

  SourceLocation Current;
  std::vector<SourceLocation> Chain;
  llvm::DenseMap<Position, std::vector<SourceLocation>> ChainOf;
  /// File names of comments; until resolved, file number = FirstName + index.
  static constexpr unsigned FirstName = 1u << 30;
  llvm::StringMap<unsigned> NameIndex;
  std::vector<std::string> Names;
};

} // namespace restride::ptx
