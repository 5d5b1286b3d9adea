// How the program's files were read, for --verbose: what their compiler was told
// that restride was not.
#pragma once

#include "rewriter/decide/Report.h"

#include "llvm/Support/raw_ostream.h"

namespace restride {

/// Files that were read alike share a line.
void printCommands(const Report &R, llvm::raw_ostream &OS);

} // namespace restride
