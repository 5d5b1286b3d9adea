// Flags for the host compiler, which nvcc hands on: GCC's, of which Clang needs
// those that change what the program says.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace restride {

/// The value of -Xcompiler as arguments: separated by commas or blanks, but not
/// in quotes or behind a backslash.
std::vector<std::string> splitHostFlags(llvm::StringRef Value);

/// Puts each flag of \p Args either into \p Flags, for Clang, or into \p Dropped.
/// A value that is an argument of its own stays with its flag.
void keepHostFlags(llvm::ArrayRef<std::string> Args, std::vector<std::string> &Flags, std::vector<std::string> &Dropped);

} // namespace restride
