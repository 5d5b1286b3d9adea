// #include lines by their text alone, without a preprocessor.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace restride {

struct IncludeLine {
  llvm::StringRef Name; ///< between the quotes or brackets
  bool Quoted = false;
};

/// What a line of a source file includes; nothing for other lines, and for a macro that has no name in it.
std::optional<IncludeLine> includeLine(llvm::StringRef Line);

} // namespace restride
