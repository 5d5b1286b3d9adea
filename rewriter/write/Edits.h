// Edits of a program's text that may nest: a[b[i].k].x is rewritten outside and inside.
// An edit replaces a range by pieces, each new text or a part of the range,
// which is rewritten in turn.
#pragma once

#include "analysis/program/Candidate.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace restride {

struct Piece {
  std::string Text;
  std::optional<Range> Source; ///< in place of Text
  Piece(std::string Text) : Text(std::move(Text)) {}
  Piece(const char *Text) : Text(Text) {}
  Piece(Range Source) : Source(Source) {}
  bool operator==(const Piece &) const = default;
};

using Pieces = std::vector<Piece>;
inline void add(Pieces &To, const Pieces &From) { To.insert(To.end(), From.begin(), From.end()); }

struct Edit {
  Range Where; ///< empty for an insertion
  Pieces With;
  unsigned Instance = 0; ///< of the function around it, see FunctionInstances
  bool Yields = false;   ///< to another that drops its text
  bool operator==(const Edit &) const = default;
};

/// Text with the edits made, and where its parts come from.
struct Rewritten {
  std::string Text;
  struct Copy {
    unsigned New, Old, Length; ///< bytes
  };
  std::vector<Copy> Copies; ///< by New
  std::vector<Range> Files; ///< where the files lie now, in their order
  llvm::StringRef file(size_t I) const { return llvm::StringRef(Text).slice(Files[I].Begin, Files[I].End); }
  /// Where the byte at \p New of Text comes from; generated text maps to the
  /// nearest copied text before it.
  unsigned original(unsigned New) const;
};

/// Makes all edits in all files. Fails if two of them overlap without nesting,
/// or if one lies in a part of another that is dropped.
llvm::Expected<Rewritten> applyEdits(const Sources &Text, std::vector<Edit> Edits);

/// The text of \p Part alone, with those edits that lie in it.
llvm::Expected<std::string> applyEdits(const Sources &Text, Range Part, llvm::ArrayRef<Edit> Edits);

} // namespace restride
