// Generated functions that move one element, or a nested record in it, out of a
// layout and back: "P PSoA_load(PSoA p, ptrdiff_t i)". For a record with private
// fields they are static members of the handle's type, which the record makes
// its friend: "PSoA::load".
#pragma once

#include "layouts/Layout.h"

namespace restride {

/// How the function \p What ("load", "store_pos") is called.
std::string elementFunction(const Record &R, llvm::StringRef Handle, llvm::StringRef What);

/// A local variable `r` of the record's type whose constructor does not run.
std::string localRecord(const Record &R, llvm::StringRef Indent);

/// That variable `r`, with every byte set to `value`, in a function's body.
std::string filledRecord(const Record &R);

/// The statement that stores the record \p Value in element \p Index behind \p Pointer.
std::string elementStore(const Record &R, const Layout &L, llvm::StringRef Handle, llvm::StringRef Pointer, llvm::StringRef Index, llvm::StringRef Value);

std::string loadFunction(const Record &R, const Layout &L, llvm::StringRef Handle);

/// \p Path leads to a nested record; empty for the whole element.
std::string storeFunction(const Record &R, const Layout &L, llvm::StringRef Handle, llvm::ArrayRef<std::string> Path = {});

/// "store_pos", for elementFunction().
std::string storeName(llvm::ArrayRef<std::string> Path);

} // namespace restride
