// Parallel arrays that are faster as one array of structs.
#pragma once

#include "rewriter/fold/FoldTrial.h"

namespace restride {

/// A program after its parallel arrays were decided, and what was said on the way.
struct FoldedProgram {
  Program P;
  /// Layouts of the arrays that were folded, by the record's name.
  std::map<std::string, const Layout *> Settled;
  std::vector<Report::Candidate> Candidates;
  std::vector<std::string> Warnings;
};

/// Folds one group after the other, each time the one that gains most. Where
/// none gains by itself, two of the same kernel may together.
llvm::Expected<FoldedProgram> foldArrays(ProgramReading Reading, const FoldInput &In);

} // namespace restride
