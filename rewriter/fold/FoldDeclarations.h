// The declarations of parallel arrays as one declaration of a record pointer.
#pragma once

#include "rewriter/fold/FoldNames.h"
#include "rewriter/write/Edits.h"

namespace restride {

/// Adds the edits for all variables, parameters and members of the group.
/// Returns why that cannot be done, if it cannot.
std::optional<std::string> foldDeclarations(const ArrayProgram &A, const ParallelGroup &G, const FoldNames &Names, std::vector<Edit> &Edits);

} // namespace restride
