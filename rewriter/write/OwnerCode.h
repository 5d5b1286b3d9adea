// The std::unique_ptr that owns an array in its layout.
#pragma once

#include "layouts/Layout.h"

namespace restride {

/// Its name: "ParticleSoA_ptr".
std::string ownerName(llvm::StringRef Handle);

/// Its deleter, with what takes the pointer's place where the handle is a struct, and its type. \p Before: what it was.
std::string ownerCode(const Record &R, const Layout &L, llvm::StringRef Handle, llvm::StringRef Before);

} // namespace restride
