// Chooses a layout for each candidate of a program.
#pragma once

#include "rewriter/decide/Trials.h"

namespace restride {

struct Decision {
  Plan Layouts; ///< of all candidates
  std::vector<Report::Candidate> Candidates;
  std::vector<std::string> Warnings;
};

bool isWanted(const Candidate &C, const Options &O);

/// Takes one candidate after the other, each against the layouts that those
/// before it got. One whose kernels a later one changed is looked at once more,
/// from the plan that was found. Fails if the program as it is does not compile.
llvm::Expected<Decision> decide(const DecideInput &In, VariantCompiler &Compiler);

} // namespace restride
