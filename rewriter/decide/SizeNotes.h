// Where nothing is known of an array's size, layouts are scored at several. This
// says so when the choice would not be the same at all of them.
#pragma once

#include "rewriter/decide/Trials.h"

namespace restride {

/// Adds a note to the first kernel of each trial if the fastest layout depends on the size. The source's comes first.
void noteSizes(llvm::MutableArrayRef<Trial> Trials, double MinSpeedup);

} // namespace restride
