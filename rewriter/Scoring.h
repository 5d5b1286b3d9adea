// What a variant costs, from its PTX.
#pragma once

#include "analysis/cost/Rank.h"
#include "rewriter/VariantCompiler.h"

namespace restride {

/// What a plan costs in the kernels named by \p Kernels (mangled).
llvm::Expected<cost::Score> scorePlan(const Program &P, const Plan &Layouts, llvm::ArrayRef<std::string> Kernels, const Compiled &Code,
                                      const cost::Gpu &Gpu, cost::Model Model);

} // namespace restride
