// Parses one source file of a CUDA program as its host compiler would. The host
// side sees kernels, launches and host code in one AST.
#pragma once

#include "analysis/program/Sources.h"
#include "ptx/compile/ClangInvocation.h"
#include "ptx/compile/Compile.h"
#include "rewriter/command/CudaToolkit.h"
#include "rewriter/command/SourceCommand.h"

#include <memory>
#include <set>
#include <vector>

namespace clang {
class ASTUnit;
} // namespace clang

namespace restride {

struct ParsedSource {
  std::shared_ptr<clang::ASTUnit> Ast;
  /// All files that were read and are no system headers, each once, in the order
  /// in which they were entered: the main file first. Absolute, without links.
  std::vector<std::string> UserFiles;
  /// In UserFiles, sorted. What was skipped at one #include of a file and read
  /// at another one is skipped.
  std::vector<SkippedRange> Skipped;
  std::set<std::string> Read; ///< all files, also those of attempts that failed; absolute
  /// Flags beyond the command's, as the program asks what only nvcc defines.
  std::vector<std::string> NvccMacros;
  std::string Bytes;       ///< the AST as a file, where it was asked for; see LoadedAst.h
  std::string Precompiled; ///< headers that Bytes builds upon; may be empty
};

/// Prints errors as Clang does, to \p Errors; a file with errors is then
/// an llvm::Error of one line. Warnings about the user's code are not printed.
/// A file of C or C++ is parsed as C++.
/// Files of \p Changed have new text. \p Serialize: fill Bytes.
llvm::Expected<ParsedSource> parse(const SourceCommand &Command, const CudaToolkit &Toolkit, ptx::Side Side = ptx::Side::Host,
                                   llvm::ArrayRef<ptx::SourceText> Changed = {}, llvm::raw_ostream &Errors = llvm::errs(), bool Serialize = false);

/// Fails with the host compiler's first error about the program where the files
/// of \p Changed have new text. A file of C is C here, as it is for that compiler.
llvm::Error checkParses(const SourceCommand &Command, const CudaToolkit &Toolkit, llvm::ArrayRef<ptx::SourceText> Changed);

} // namespace restride
