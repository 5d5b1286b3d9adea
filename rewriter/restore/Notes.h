// Lines whose earlier text cannot be told from what was written, as comments
// behind the generated code:
//
//   // Before: __global__ void step(const Particle *__restrict__ p, int n) {
//
// A note says the line as it was. Where it belongs is the line that is most like
// it, with the notes in the program's order.
#pragma once

#include "rewriter/restore/Restore.h"

namespace restride {

/// \p Written with the notes that lead from it back to \p Before, whose files are
/// the same; as it is where none is needed.
llvm::Expected<Rewritten> withNotes(const Sources &Written, const Sources &Before);

/// Puts the lines of \p Notes into \p Text in place of those that are most like them.
llvm::Expected<Rewritten> applyNotes(const Sources &Text, llvm::ArrayRef<std::string> Notes);

} // namespace restride
