// Parallel arrays as one array of structs: float *x, *y become Xy *xy, and x[i]
// becomes xy[i].x. What comes out is a program like any other, whose record can
// take every layout.
#pragma once

#include "rewriter/fold/FoldNames.h"
#include "rewriter/write/Edits.h"

namespace restride {

struct Folded {
  FoldNames Names;
  Rewritten Text;
  std::optional<Refusal> Refused; ///< some use would only make sense for one of the arrays
};

Folded fold(const ArrayProgram &A, const ParallelGroup &G);

} // namespace restride
