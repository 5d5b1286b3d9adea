// A report as JSON, version 1. Keys keep their order; units are in their names.
#pragma once

#include "rewriter/decide/Report.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

namespace restride {

void printJson(const Report &R, llvm::raw_ostream &OS);

/// The same with what the HTML page draws: the lanes' addresses, control-flow
/// graphs, the program's text and \p Diffs. These are no part of version 1.
void printJsonForPage(const Report &R, llvm::ArrayRef<std::string> Diffs, llvm::raw_ostream &OS);

} // namespace restride
