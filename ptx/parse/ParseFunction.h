// One .entry or .func, header and body.
#pragma once

#include "ptx/parse/Lexer.h"
#include "ptx/parse/Locations.h"
#include "ptx/parse/Module.h"

#include <map>

namespace restride::ptx {

/// Instructions not understood, by mnemonic.
using UnknownCounts = std::map<std::string, unsigned>;

/// Reads a function; `.entry` or `.func` is the next token. Leaves \p F empty
/// (no name) for a prototype without a body.
llvm::Error readFunction(Lexer &L, Locations &Locs, UnknownCounts &Unknown, Function &F);

} // namespace restride::ptx
