// One score of a program whose sizes are not known, from its scores at several.
// The geometric mean weighs what a layout gains at one size against what it
// loses at another, however long each takes.
#pragma once

#include "analysis/cost/Score.h"

#include "llvm/ADT/ArrayRef.h"

namespace restride::cost {

/// \p Scores are of the same kernels, at sizes that grow. What is no number is that of the last one.
Score meanScore(llvm::ArrayRef<Score> Scores);

} // namespace restride::cost
