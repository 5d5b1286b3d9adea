// Compiler flags as the user has them, for nvcc, GCC or Clang, as Clang's. nvcc's
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

/// Whose flags they are. \c Any is nvcc's or Clang's, as typed by a user who can
/// mend what Clang complains of.
enum class FlagsOf { Any, Nvcc, Gcc };

/// By the compiler's name in a command.
FlagsOf compilerOf(llvm::StringRef Program);

struct ClangFlags {
  std::vector<std::string> Flags;   ///< no compiler, input or output
  std::vector<std::string> Archs;   ///< GPUs that are named, "sm_90", the oldest first
  std::optional<std::string> Arch;  ///< the newest of them that Clang knows
  std::vector<std::string> OptionsFiles; ///< that were read, absolute
  std::vector<std::string> Dropped; ///< flags without a place in Flags, with their values
};

/// Translates the arguments after the compiler's name. Options files
/// (--options-file, and @file) are read relative to \p Directory. Inputs and outputs,
/// warnings, optimisation and linking are left out. What is neither nvcc's nor
/// on that list is, of nvcc and GCC, for the host compiler (see HostFlags.h), and
/// passes through otherwise for Clang to judge.
llvm::Expected<ClangFlags> translateFlags(llvm::ArrayRef<std::string> Args, llvm::StringRef Directory, FlagsOf Whose = FlagsOf::Any);

} // namespace restride
