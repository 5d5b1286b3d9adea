// Compilers of a program's units to PTX.
#pragma once

#include "rewriter/command/CudaToolkit.h"
#include "rewriter/command/Options.h"
#include "rewriter/read/VariantCompiler.h"

namespace restride {

struct CompilerSettings {
  const CudaToolkit &Toolkit;
  std::string GpuArch;
  const Options &O;
};

/// All that the PTX of a unit's text hangs on, beside that text.
std::string ptxKey(const SourceCommand &Command, const CompilerSettings &S);

/// Begins to read the headers at once. A unit that was collected needs no
/// compiler until its text changes.
llvm::Expected<std::unique_ptr<ptx::Compiler>> createCompiler(const ProgramUnit &U, const CompilerSettings &S);

} // namespace restride
