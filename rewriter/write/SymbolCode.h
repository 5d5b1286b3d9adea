// Generated code for arrays that are declared in device memory: copies between
// them and records, in place of cudaMemcpyToSymbol and cudaMemcpyFromSymbol.
#pragma once

#include "rewriter/write/HelperCode.h"

namespace restride {

/// One text for each function.
std::vector<std::string> symbolCode(const Record &R, const Layout &L, llvm::StringRef Handle, const HelperNeeds &Needs);

} // namespace restride
