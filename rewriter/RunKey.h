// What the output of a run hangs on, beside the contents of files.
#pragma once

#include "rewriter/command/Options.h"

#include "llvm/ADT/ArrayRef.h"

namespace restride {

/// The tool, its command line, the working directory, the toolkit, variables that
/// compilers read, and whether there is colour.
std::vector<std::string> runKey(const Options &O, llvm::ArrayRef<const char *> Args);

} // namespace restride
