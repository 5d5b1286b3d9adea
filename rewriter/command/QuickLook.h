// What a file's text tells without a parse. Most files of a commit have nothing
// for the tool, and should cost nothing.
#pragma once

#include "rewriter/command/SourceCommand.h"

namespace restride {

/// The file of \p Command, or a header of the user's that it includes, names a
/// kernel. A macro of a system header that means __global__ goes unseen.
bool mayHaveKernel(const SourceCommand &Command);

/// By its ending.
bool isHeader(llvm::StringRef Path);

} // namespace restride
