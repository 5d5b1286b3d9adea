// Allocations, copies, frees and null values of parallel arrays as those of one
// array of structs.
#pragma once

#include "rewriter/fold/FoldNames.h"
#include "rewriter/write/Edits.h"
#include "rewriter/write/FieldCopies.h"

namespace restride {

/// Adds the edits for all of the host's sites of the group, and what they need
/// of the copy functions. Returns why that cannot be done, if it cannot.
std::optional<Refusal> foldHostSites(const ArrayProgram &A, const ParallelGroup &G, const FoldNames &Names, std::vector<Edit> &Edits,
                                     FieldCopyNeeds &Copies);

} // namespace restride
