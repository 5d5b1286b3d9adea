// The line in a class with private fields that lets generated code take its
// objects apart:
//
//   class P {
//     friend struct PSoA;
#pragma once

#include "rewriter/write/SiteEdits.h"

namespace restride {

/// Nothing where the layout or the class needs none. Arrays that share a handle
/// give the same edit.
std::optional<Edit> friendEdit(const Move &M, llvm::StringRef Source);

} // namespace restride
