// Candidates: the flow classes of a whole program, with all their uses and
// every reason against them.
#pragma once

#include "analysis/program/ProgramFacts.h"

namespace restride {

/// Finds every array of records that a kernel gets as `T *`. The units must be
/// one program: Flow::conflict() says whether they are.
Program assemble(ProgramFacts Facts);

/// Adds to \p C what speaks against its flow class \p Class as a whole: where
/// the pointers come from, and what other files do with them.
void checkClass(Candidate &C, llvm::ArrayRef<NodeId> Class, const ProgramFacts &Facts);

/// Something of \p C is written another way in an instance of \p F.
bool respelledIn(const Candidate &C, const FunctionInstances &F);

} // namespace restride
