// What would change, for clang-apply-replacements.
#pragma once

#include "rewriter/decide/Report.h"

#include "llvm/Support/Error.h"

namespace restride {

/// The YAML that clang-apply-replacements reads: all replacements of a run.
llvm::Expected<std::string> fixes(const Report &R);

} // namespace restride
