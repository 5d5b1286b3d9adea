// Which function of the PTX a kernel of the source has become: a parameter that
// changes its type changes the mangled name.
#pragma once

#include "ptx/parse/Module.h"
#include "rewriter/write/Variant.h"

namespace restride {

/// A kernel's qualified name with its template arguments and without parameters:
/// what stays of a mangled name when a parameter changes its type.
std::string kernelName(llvm::StringRef Mangled);

/// The function of \p M that \p L launches in this plan; empty if it is not in it.
std::string functionOf(const Launch &L, const ptx::Module &M, const Program &P, const Plan &Layouts);

} // namespace restride
