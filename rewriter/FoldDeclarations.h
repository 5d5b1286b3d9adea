// The declarations of parallel arrays as one declaration of a record pointer.
#pragma once

#include "rewriter/Edits.h"
#include "rewriter/FoldNames.h"

namespace restride {

/// Adds the edits for all variables, parameters and members of the group.
/// Returns why that cannot be done, if it cannot.
std::optional<std::string> foldDeclarations(const ArrayProgram &A, const ParallelGroup &G, const FoldNames &Names, std::vector<Edit> &Edits);

/// \p Item of a list with the comma before it; nothing if there is none.
std::optional<Range> withComma(Range Item, llvm::StringRef Source);

/// \p Statement with its semicolon, and with the whole line where nothing else
/// but a comment stands in it.
Range wholeLine(Range Statement, llvm::StringRef Source);

} // namespace restride
