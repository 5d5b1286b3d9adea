// Kernels and how the host launches them.
#pragma once

#include "analysis/program/Evaluate.h"

namespace restride {

/// A launch per kernel in \p Kernels: sizes and integer arguments as far as the
/// source gives them. Several launches of one kernel add up.
std::vector<Launch> launches(llvm::ArrayRef<const clang::FunctionDecl *> Kernels, const UnitFacts &Facts,
                             const Evaluator &Values, clang::ASTContext &Context, const SourceView &View);

/// As in PTX.
std::string mangledKernel(const clang::FunctionDecl *F, clang::ASTContext &Context);

} // namespace restride
