// Layouts against kernels, in predicted cycles.
#pragma once

#include "rewriter/decide/Report.h"

#include "llvm/Support/raw_ostream.h"

namespace restride {

/// At most 100 columns wide. Kernels that do not fit share one column, the most
/// expensive ones keep theirs. Prints nothing for a candidate without scores.
void printScoreTable(const Report::Candidate &C, llvm::raw_ostream &OS);

} // namespace restride
