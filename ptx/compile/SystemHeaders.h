// The system headers of a program, to be read once for all of its variants even
// where headers of the user's come before them or include them.
//
//   sim.cu: #include "sim.h"          Result: #define BLOCK 128
//           #include <vector>                 #include <cstdio>
//   sim.h:  #define BLOCK 128                 #include <vector>
//           #include <cstdio>                 #undef BLOCK
//           struct P { float x; };
//
// That is all directives of the user's files, in the order of the program, so
// that the system's headers see the macros that they would see. In the end those
// are undefined again: a variant begins with none. It then finds each system
// header read already. An #error stands where that would show: where the
// user's files test or change a macro of a system header that comes later.
#pragma once

#include "ptx/compile/UserIncludes.h"

namespace restride::ptx {

/// For \p MainFile, of contents \p Text. Nothing where there is nothing to win:
/// no system header comes after one of the user's; or where it cannot be done.
std::optional<std::string> systemHeaders(llvm::StringRef Text, llvm::StringRef MainFile, const UserFolders &Folders);

} // namespace restride::ptx
