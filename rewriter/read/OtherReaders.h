// Files of the project that a run does not read, but which read a header that
// the run would change.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace restride {

/// The project's folder: the nearest one with a .git above \p File, else the
/// deepest one that has all of \p Files.
std::string projectRoot(llvm::ArrayRef<std::string> Files);

/// All sources and headers below \p Root, by their endings; sorted, without hidden ones.
std::vector<std::string> sourcesBelow(llvm::StringRef Root);

/// A source file below \p Root that includes \p Header and is not among
/// \p Read, all absolute. Looks at the text of #include lines only.
std::optional<std::string> otherReader(llvm::StringRef Header, llvm::StringRef Root, llvm::ArrayRef<std::string> Read);

} // namespace restride
