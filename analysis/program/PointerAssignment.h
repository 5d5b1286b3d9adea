// "f.x = d_x;": a pointer put into a member of a struct.
#pragma once

#include "analysis/program/Sources.h"

#include <optional>

namespace restride {

struct PointerAssignment {
  Range Statement; ///< without the semicolon
  Range Object;    ///< "f.", "w->f."
  Range Member;    ///< "x"
};

/// The statement that assigns \p Value, a pointer, to a member, and does nothing
/// else; nothing if it is not one.
std::optional<PointerAssignment> assignmentToMember(Range Value, llvm::StringRef Source);

} // namespace restride
