// The source files of a variant, as --emit-variants writes them.
#pragma once

#include "rewriter/decide/Report.h"
#include "rewriter/read/VariantCompiler.h"

namespace restride {

/// The files of one variant: each unit's main file, what changes, and the
/// user's headers beside them, named from their deepest common folder.
std::vector<Report::VariantFile> variantFiles(const Program &P, llvm::ArrayRef<ProgramUnit> Units, const Rewritten &Text,
                                              const Compiled &Code);

} // namespace restride
