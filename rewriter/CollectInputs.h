// From a program that was read to the files and folders that its reading hung on.
#pragma once

#include "rewriter/command/CudaToolkit.h"
#include "rewriter/command/Options.h"
#include "rewriter/command/RunInputs.h"
#include "rewriter/read/VariantCompiler.h"

namespace restride {

/// What \p U was read from, and what is looked for above its files:
/// configurations, styles, databases.
void addInputs(const ProgramUnit &U, RunInputs &To);

/// What all units share.
void addInputs(const Options &O, const CudaToolkit &Toolkit, RunInputs &To);

} // namespace restride
