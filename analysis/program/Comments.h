// Comments in front of declarations.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace restride {

/// Where the lines of // comment begin that end above the line at \p At; that
/// line's begin where there are none.
size_t commentAbove(llvm::StringRef Text, size_t At);

} // namespace restride
