// Where a program names what an earlier run gave it: handles, the names that
// hold one, and functions that take an index beside it. Everything is known from
// tokens, and what is understood wrongly is found out later (RestoreProgram.h).
#pragma once

#include "analysis/program/Generated.h"
#include "rewriter/write/Edits.h"

#include <set>

namespace restride {

class HandleUses {
public:
  HandleUses(llvm::StringRef Text, llvm::ArrayRef<TextToken> Tokens, llvm::ArrayRef<GeneratedBlock> Blocks);

  /// Edits that put declarations back, and the blocks with them.
  std::vector<Edit> Edits;
  /// Tokens outside of all blocks.
  bool isCode(size_t I) const { return I < Tokens.size() && !Inside[I]; }
  bool is(size_t I, llvm::StringRef What) const { return I < Tokens.size() && Tokens[I].Text == What; }
  /// The bracket that belongs to the one at \p I; the number of tokens if none does.
  size_t match(size_t I) const { return Match[I]; }
  Range range(size_t Begin, size_t End) const { return {Tokens[Begin].Where.Begin, Tokens[End - 1].Where.End}; }
  /// Blocks whose handle the expression may be that ends with token \p Last.
  std::set<size_t> blocksOf(size_t Last) const;
  /// Arguments between the brackets at \p Open, as [begin, end) of tokens.
  std::vector<std::pair<size_t, size_t>> arguments(size_t Open) const;
  /// Positions of the parameters of \p Function that are indices beside a handle.
  const std::set<unsigned> *indices(llvm::StringRef Function) const;
  /// The element at index [Begin, End) beside a pointer whose expression ends with
  /// token \p Base: nothing for the first. The pointer's own index is left out.
  std::optional<Pieces> index(size_t Base, size_t Begin, size_t End) const;
  /// As above, without brackets around all of it.
  std::optional<Pieces> bareIndex(size_t Base, size_t Begin, size_t End) const;

  const llvm::StringRef Text;
  const llvm::ArrayRef<TextToken> Tokens;
  const llvm::ArrayRef<GeneratedBlock> Blocks;

private:
  void matchBrackets();
  void declaration(size_t I, size_t Block, llvm::ArrayRef<size_t> Open);
  void declarators(size_t Name, size_t Block, llvm::ArrayRef<size_t> Open);
  size_t indexBeside(size_t I, size_t Name, llvm::ArrayRef<size_t> Open);
  void besides(size_t I, size_t Name, size_t Block);
  void deduced();
  std::string recordAt(size_t I, size_t Block) const;

  struct Scope {
    size_t Block, Begin, End; ///< tokens
  };
  void name(size_t Name, size_t Block, llvm::ArrayRef<size_t> Open);
  bool holdsDeclarations(size_t Brace) const;

  std::vector<bool> Inside;
  std::vector<size_t> Match;
  std::map<llvm::StringRef, std::vector<Scope>> Names;
  std::map<llvm::StringRef, std::set<unsigned>> Indexed;
  std::map<llvm::StringRef, std::string> Renamed;
};

} // namespace restride
