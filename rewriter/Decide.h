// Chooses a layout for each candidate of a program.
#pragma once

#include "rewriter/Describe.h"
#include "rewriter/Options.h"
#include "rewriter/Scoring.h"

namespace restride {

struct Decision {
  Plan Layouts; ///< of all candidates
  std::vector<Report::Candidate> Candidates;
  std::vector<std::string> Warnings;
};

/// A program's facts and tools while its candidates are decided.
struct DecideInput {
  const Program &P;
  llvm::ArrayRef<ProgramUnit> Units;
  const FileNames &Names;
  const Options &O;
  const cost::Gpu &Gpu;
};

/// Takes one candidate after the other, each against the layouts that those
/// before it got. Fails if the program as it is does not compile.
llvm::Expected<Decision> decide(const DecideInput &In, VariantCompiler &Compiler);

} // namespace restride
