// --hook: the files of a commit, which are seldom a whole program.
#pragma once

#include "rewriter/command/Options.h"

namespace restride {

/// The runs that \p O, a commit's files, comes down to. Files that a compilation
/// database has are one program; each other file is a program of its own. Left
/// out are headers, which change with the files that include them, and programs
/// without a kernel, as far as their text tells.
llvm::Expected<std::vector<Options>> hookRuns(const Options &O);

} // namespace restride
