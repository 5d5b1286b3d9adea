// Where the record of folded arrays goes, so that all who use it have read it.
#pragma once

#include "analysis/program/ParallelArrays.h"

#include <optional>

namespace restride {

/// The place of a declaration before the first of \p Uses in a file that every
/// unit with some of them reads before the others. Headers come first. Looks at
/// the text of #include lines, not at conditions around them. Nothing if there
/// is no such file.
std::optional<unsigned> recordPlace(const ArrayProgram &A, llvm::ArrayRef<Range> Uses);

} // namespace restride
