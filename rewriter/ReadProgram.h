// Translation units to facts.
#pragma once

#include "analysis/program/ProgramFacts.h"
#include "rewriter/CudaToolkit.h"
#include "rewriter/VariantCompiler.h"

namespace restride {

/// What is read of a program: its arrays of records, and its arrays of numbers.
struct ProgramReading {
  ProgramFacts Records, Arrays;
};

/// Reads \p Units one after the other; an AST ends where its facts are read.
/// Files of \p Changed have new text. Editable are the files below \p Root.
llvm::Expected<ProgramReading> readProgram(std::vector<ProgramUnit> &Units, const CudaToolkit &Toolkit, const std::string &Root,
                                           llvm::ArrayRef<ptx::SourceText> Changed = {});

} // namespace restride
