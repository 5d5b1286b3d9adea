// Edits for the sites of one candidate that moves to a layout.
#pragma once

#include "rewriter/write/Edits.h"
#include "rewriter/write/HelperCode.h"

namespace restride {

/// One candidate, its layout and the name of its handle type.
struct Move {
  const Candidate &C;
  const Layout &L;
  std::string Handle;
};

/// What the runtime calls of \p M need of the helper code.
void addCallNeeds(const Move &M, HelperNeeds &Needs);

/// Edits for accesses, member calls, aliases, shifts, null values, tests, sizes and runtime calls, and
/// what they need of the helper code.
std::vector<Edit> siteEdits(const Move &M, HelperNeeds &Needs);

/// Edits for declarations, whose declarators may move to different layouts.
/// \p Moves has an entry per candidate; null where it stays.
std::vector<Edit> declarationEdits(llvm::ArrayRef<Declaration> Declarations, llvm::ArrayRef<const Move *> Moves, llvm::StringRef Source);

/// \p P's declarations, with a candidate for every member that moves in all objects of its struct.
std::vector<Declaration> placeMembers(const Program &P, llvm::ArrayRef<const Move *> Moves);

/// Edits for members that move in some objects only.
std::vector<Edit> memberEdits(const Program &P, llvm::ArrayRef<const Move *> Moves);

/// The declaration of a variable \p Name like \p One in \p D, with the type of \p M.
std::string besideDeclarator(const Declaration &D, const Declarator &One, const Move &M, const std::string &Name, llvm::StringRef Source);

/// Steps of \p Path that lead to a leaf of \p R: the index goes after them.
/// Nothing where the path ends before a leaf. \p WithSubscripts says whether
/// the last step's subscripts belong to the path too.
std::optional<size_t> leafDepth(const Record &R, llvm::ArrayRef<Step> Path, bool &WithSubscripts);

/// Why \p C's calls of member functions cannot be written for a layout in which
/// elements are no records.
std::optional<Refusal> memberCallObjection(const Candidate &C, const Layout &L);

/// \p A reads or writes a leaf of \p R; a nested record that stays in one piece is one.
bool isLeaf(const Record &R, const Access &A);

} // namespace restride
