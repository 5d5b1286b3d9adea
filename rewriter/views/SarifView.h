// Findings as SARIF 2.1.0, which code hosts show beside the lines of a change.
#pragma once

#include "rewriter/decide/Report.h"

#include "llvm/Support/raw_ostream.h"

namespace restride {

/// A result for each array: rule "layout" where another layout is faster or asked
/// for, "refused" where it is left alone, with the places that are why. Arrays
/// that stay as they are, are no findings.
void printSarif(const Report &R, llvm::raw_ostream &OS);

} // namespace restride
