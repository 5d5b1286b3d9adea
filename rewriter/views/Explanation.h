// Why a kernel takes as long as it does in each layout: the terms of its score,
// what its warps ask of memory, where that is found, and what was assumed.
#pragma once

#include "rewriter/decide/Report.h"

#include "llvm/Support/raw_ostream.h"

namespace restride {

/// One section for each kernel of a candidate, at most 100 columns wide. Nothing
/// for kernels without terms.
void printExplanation(const Report::Candidate &C, llvm::raw_ostream &OS);

} // namespace restride
