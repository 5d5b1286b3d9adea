// Parameters that get a pointer into the middle of an array, or a reference to
// an element. A structure of arrays has no such thing, so the function takes
// the array and an index in its place.
#pragma once

#include "analysis/program/Flow.h"

namespace restride {

/// Finds them, adds the index to every element that is reached through one, and
/// says so at the calls and in \p Declarations (whose candidates are nodes).
void indexParameters(Flow &Graph, std::vector<Declaration> &Declarations, const Sources &Text);

} // namespace restride
