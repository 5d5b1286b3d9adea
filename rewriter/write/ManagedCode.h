// Generated code for managed memory: fills by the host, in place of memset, and
// hints about where it should lie, cudaMemPrefetchAsync and cudaMemAdvise.
#pragma once

#include "rewriter/write/HelperCode.h"

namespace restride {

/// One text for each function.
std::vector<std::string> managedCode(const Record &R, const Layout &L, llvm::StringRef Handle, const HelperNeeds &Needs);

} // namespace restride
