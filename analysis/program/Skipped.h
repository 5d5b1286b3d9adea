// Text that the preprocessor leaves out: what it says is not known.
#pragma once

#include "analysis/program/ProgramFacts.h"

namespace restride {

/// Says so in \p C, whose nodes are \p Class, if skipped text names something of it.
void checkSkipped(Candidate &C, llvm::ArrayRef<NodeId> Class, const ProgramFacts &Facts);

} // namespace restride
