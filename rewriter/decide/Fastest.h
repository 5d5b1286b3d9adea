// Which of a candidate's layouts to take.
#pragma once

#include "rewriter/decide/Trials.h"

namespace restride {

/// cost::choose among \p Trials, of which \p Scores are predictions and the first one is what there is now.
/// For the throughput model, of tiles that are predicted alike the largest, and plain arrays before these.
cost::Choice fastest(llvm::ArrayRef<const Trial *> Trials, llvm::ArrayRef<cost::Score> Scores, double MinSpeedup, cost::Model Model);

} // namespace restride
