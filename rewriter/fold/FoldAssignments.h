// Parallel arrays that go on to the members of a struct:
//
//   f.x = d_x;            f.xy = d_xy;
//   f.y = d_y;
#pragma once

#include "rewriter/fold/FoldNames.h"
#include "rewriter/write/Edits.h"

namespace restride {

/// Adds the edits for all such assignments of the group. Returns why that cannot
/// be done, if it cannot.
std::optional<Refusal> foldAssignments(const ArrayProgram &A, const ParallelGroup &G, const FoldNames &Names, std::vector<Edit> &Edits);

} // namespace restride
