// "did you mean": the known name that a misspelt one is closest to.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace restride {

/// "; did you mean 'soa'?", or nothing where no name of \p Known is close.
std::string didYouMean(llvm::StringRef Name, llvm::ArrayRef<llvm::StringRef> Known);

/// The error for a name that is not among \p Known, one line:
/// "unknown layout 'sao'; did you mean 'soa'?", or the list where none is close.
llvm::Error unknownName(llvm::StringRef What, llvm::StringRef Name, llvm::ArrayRef<llvm::StringRef> Known);

} // namespace restride
