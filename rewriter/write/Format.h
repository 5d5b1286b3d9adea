// Generated code in the style of the file it goes into.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace restride {

/// \p Code as clang-format would write it beside \p File: by the nearest
/// .clang-format, else in LLVM's style. Code that cannot be formatted stays.
std::string formatFor(llvm::StringRef File, llvm::StringRef Code);

} // namespace restride
