// Parses one CUDA source file as its host compiler would. The host side sees
// kernels, launches and host code in one AST.
#pragma once

#include "analysis/program/ProgramFacts.h"
#include "ptx/Compile.h"
#include "rewriter/CudaToolkit.h"
#include "rewriter/SourceCommand.h"

#include "clang/Frontend/ASTUnit.h"

#include <memory>
#include <vector>

namespace restride {

struct ParsedSource {
  std::unique_ptr<clang::ASTUnit> Ast;
  std::vector<SkippedRange> Skipped; ///< in order of Begin
};

/// Prints errors as Clang does, to standard error; a file with errors is then
/// an llvm::Error of one line. Warnings about the user's code are not printed.
llvm::Expected<ParsedSource> parse(const SourceCommand &Command, const CudaToolkit &Toolkit);

/// Fails with the host compiler's first error about \p Text in the file's place.
llvm::Error checkParses(const SourceCommand &Command, const CudaToolkit &Toolkit, llvm::ArrayRef<ptx::SourceText> Changed);

} // namespace restride
