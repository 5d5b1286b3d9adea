// What an earlier run wrote beside a record, read back from the text: the block
// behind a line "// restride: ...", its record, its layout and its helpers.
#pragma once

#include "analysis/program/Tokens.h"

#include <map>
#include <string>

namespace restride {

/// Stands above a record that parallel arrays became.
inline constexpr char FoldedMark[] = "// One element of the arrays ";

/// A member of a handle that is a struct.
struct HandleMember {
  std::string Name;
  unsigned Extents = 0; ///< subscripts that come before the element's
  std::vector<HandleMember> Members = {}; ///< of a nested record
  std::vector<std::string> Group = {};    ///< the fields of a group
};

/// A function of the block.
struct HelperFunction {
  std::string Name; ///< without the handle's: "memcpy"
  /// Positions of the parameters that hold an element's index beside a pointer
  /// to the array.
  std::vector<unsigned> Indices;
  std::vector<bool> Handles; ///< by parameter: it is the array
};

/// Stands above what frees an array in place of its std::unique_ptr's deleter; that type follows.
inline constexpr llvm::StringLiteral OwnerMark = "// Frees what was owned by ";

struct GeneratedBlock {
  std::string Record; ///< "geo::P", as the code after it spells it
  std::string Handle; ///< "PSoA"
  std::string Layout; ///< "soa", "asta32", "aos-align16", "grouped"
  unsigned Tile = 0;  ///< elements, of tiles
  bool Declared = false; ///< a template over the extent
  bool Folded = false;   ///< its record was parallel arrays before
  Range Text;            ///< with the empty line before it
  Range Mark;            ///< the line that says what it is
  std::vector<HandleMember> Members; ///< where the handle is a struct
  std::vector<HelperFunction> Helpers;
  std::string Owner; ///< the type of the std::unique_ptr that owned the array
  /// What lines were before, see Notes.h; each may have several lines.
  std::vector<std::string> Before;
  bool handleIsStruct() const { return Layout == "soa" || Layout == "grouped"; }
};

/// How a note about an earlier line begins, and how its further lines do.
inline constexpr llvm::StringRef NoteMark = "// Before: ", NoteGoesOn = "//         ";

/// All blocks of a program, whose \p Text may hold several files.
std::vector<GeneratedBlock> generatedBlocks(llvm::StringRef Text, llvm::ArrayRef<TextToken> Tokens);

} // namespace restride
