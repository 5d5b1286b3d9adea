// A report as one HTML page that needs nothing else: the values as JSON, and a
// script that draws them.
#pragma once

#include "rewriter/decide/Report.h"

#include "llvm/Support/Error.h"

namespace restride {

/// Fails where the diff of a change cannot be made.
llvm::Expected<std::string> htmlPage(const Report &R);

} // namespace restride
