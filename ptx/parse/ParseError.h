// The one shape of a parse failure: "line N: what".
#pragma once

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

namespace restride::ptx {

inline llvm::Error errorAt(unsigned Line, const llvm::Twine &What) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "line " + llvm::Twine(Line) + ": " + What);
}

} // namespace restride::ptx
