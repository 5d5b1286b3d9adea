// Compiler flags as the user has them, for nvcc or Clang, as Clang's. nvcc's
// flags are translated, not only dropped: Clang rejects some and, worse,
// misreads others (-use_fast_math is "-u se_fast_math" to it).
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace restride {

struct ClangFlags {
  std::vector<std::string> Flags;  ///< no compiler, input or output
  std::optional<std::string> Arch; ///< the newest GPU that is named, "sm_90"
};

/// Translates the arguments after the compiler's name. nvcc's options files
/// (--options-file) are read relative to \p Directory. Inputs, outputs,
/// warnings, optimisation and linking are left out; what is neither nvcc's nor
/// on that list passes through for Clang to judge.
llvm::Expected<ClangFlags> translateFlags(llvm::ArrayRef<std::string> Args, llvm::StringRef Directory);

} // namespace restride
