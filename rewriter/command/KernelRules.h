// What a configuration says of kernels, in the place of what the source shows.
#pragma once

#include "analysis/program/Launches.h"
#include "rewriter/command/Config.h"

namespace restride {

/// Gives the launches of the kernels that \p Rules name their number and their
/// integer arguments. A parameter that such a kernel does not have is an error.
/// \p Again: of a program whose arrays may have become fields since they were named.
llvm::Error applyKernelRules(std::vector<LaunchSite> &Sites, llvm::ArrayRef<KernelRule> Rules, bool Again = false);

} // namespace restride
