// The first of three steps that can run apart: --collect reads each source file
// and leaves its facts in a folder (CollectedUnit.h), --decide makes a plan of
// them, --apply writes what the plan says. A file that is as its facts say is
// not read again, and --decide parses only text that it changed itself.
#pragma once

#include "rewriter/command/CudaToolkit.h"
#include "rewriter/command/Options.h"
#include "rewriter/read/VariantCompiler.h"

namespace restride {

/// Collects \p Units into O.Collect. Errors of all of them are in the result.
llvm::Error collect(llvm::ArrayRef<ProgramUnit> Units, const CudaToolkit &Toolkit, llvm::StringRef GpuArch, const Options &O);

/// The units that O.Decide has facts of: of the files that the command line
/// means, or all.
llvm::Expected<std::vector<ProgramUnit>> collectedUnits(llvm::ArrayRef<ProgramUnit> Asked, const CudaToolkit &Toolkit, const Options &O);

} // namespace restride
