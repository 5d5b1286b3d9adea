// --emit-variants: every variant as source, with its PTX beside it.
#pragma once

#include "rewriter/Report.h"
#include "rewriter/VariantCompiler.h"

namespace restride {

/// The files of one variant: each unit's main file, what changes, and the
/// user's headers beside them, named from their deepest common folder.
std::vector<Report::VariantFile> variantFiles(const Program &P, llvm::ArrayRef<ProgramUnit> Units, const Rewritten &Text,
                                              const Compiled &Code);

/// Writes DIR/<candidate>/<layout>/<file> and <file>.ptx. Two candidates of one
/// record are <record> and <record>-<array>.
llvm::Error emitVariants(const Report &R, llvm::StringRef Folder);

} // namespace restride
