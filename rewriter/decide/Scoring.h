// What a variant costs, from its PTX.
#pragma once

#include "analysis/cost/Rank.h"
#include "rewriter/read/VariantCompiler.h"

namespace restride {

/// What a plan costs in the kernels named by \p Kernels (mangled). Where nothing is known of an array's size, it is
/// scored at several.
llvm::Expected<cost::Score> scorePlan(const Program &P, const Plan &Layouts, llvm::ArrayRef<std::string> Kernels, const Compiled &Code,
                                      const cost::Gpu &Gpu, cost::Model Model);

/// Elements that arrays of unknown sizes are taken to have, from few to many; cost::Score::AtSizes is in their order.
std::vector<uint64_t> assumedSizes();

} // namespace restride
