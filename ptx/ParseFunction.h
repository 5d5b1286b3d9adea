// One .entry or .func, header and body.
#pragma once

#include "ptx/Lexer.h"
#include "ptx/Locations.h"
#include "ptx/Module.h"

#include <map>

namespace restride::ptx {

/// Instructions not understood, by mnemonic.
using UnknownCounts = std::map<std::string, unsigned>;

/// Reads a function; `.entry` or `.func` is the next token. Leaves \p F empty
/// (no name) for a prototype without a body.
llvm::Error readFunction(Lexer &L, Locations &Locs, UnknownCounts &Unknown, Function &F);

} // namespace restride::ptx
