// Candidates: the flow classes of a whole program, with all their uses and
// every reason against them.
#pragma once

#include "analysis/program/ProgramFacts.h"

namespace restride {

/// Finds every array of records that a kernel gets as `T *`. The units must be
/// one program: Flow::conflict() says whether they are.
Program assemble(ProgramFacts Facts);

} // namespace restride
