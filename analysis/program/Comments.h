// Comments in front of declarations.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace restride {

/// Where the lines of // comment begin that end above the line at \p At; that
/// line's begin where there are none.
size_t commentAbove(llvm::StringRef Text, size_t At);

/// A comment asks to leave alone what line \p Line (1-based) of \p Text declares:
/// "NORESTRIDE", behind it or by itself in the line above.
bool asksToStay(llvm::StringRef Text, unsigned Line);

} // namespace restride
