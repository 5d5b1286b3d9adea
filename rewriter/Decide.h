// Chooses a layout for each candidate of one file.
#pragma once

#include "rewriter/Options.h"
#include "rewriter/Report.h"
#include "rewriter/Scoring.h"

namespace restride {

struct Decision {
  Plan Layouts; ///< of all candidates
  std::vector<Report::Candidate> Candidates;
  std::vector<std::string> Warnings;
};

/// One file's facts and tools while its candidates are decided.
struct DecideInput {
  const Program &P;
  llvm::StringRef Source;
  llvm::StringRef Spelled; ///< the file as the user typed it
  const Options &O;
  const cost::Gpu &Gpu;
};

/// Takes one candidate after the other, each against the layouts that those
/// before it got. Fails if the program as it is does not compile.
llvm::Expected<Decision> decide(const DecideInput &In, VariantCompiler &Compiler);

} // namespace restride
