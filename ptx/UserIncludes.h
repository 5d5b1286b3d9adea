// Which #include lines name headers of the user's: those are the ones that a
// variant may change.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace clang {
class CompilerInvocation;
} // namespace clang

namespace restride::ptx {

/// Offset of the '#' of the first #include in \p Text, the contents of \p
/// MainFile, that names a user's header, by the folders of \p Invocation;
/// npos where none does. Where that is not known (#include MACRO), it may.
size_t firstUserInclude(llvm::StringRef Text, llvm::StringRef MainFile, const clang::CompilerInvocation &Invocation);

} // namespace restride::ptx
