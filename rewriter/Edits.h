// Edits of one file that may nest: a[b[i].k].x is rewritten outside and inside.
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
  bool operator==(const Edit &) const = default;
};

/// Text with the edits made, and where its parts come from.
struct Rewritten {
  std::string Text;
  struct Copy {
    unsigned New, Old, Length; ///< bytes
  };
  std::vector<Copy> Copies; ///< by New
  /// Where the byte at \p New of Text comes from; generated text maps to the
  /// nearest copied text before it.
  unsigned original(unsigned New) const;
};

/// Makes all edits. Fails if two of them overlap without nesting, or if one
/// lies in a part of another that is dropped.
llvm::Expected<Rewritten> applyEdits(llvm::StringRef Source, std::vector<Edit> Edits);

} // namespace restride
