// Parallel arrays that are faster as one array of structs.
#pragma once

#include "rewriter/Decide.h"
#include "rewriter/ReadProgram.h"

namespace restride {

/// A program after its parallel arrays were decided, and what was said on the way.
struct FoldedProgram {
  Program P;
  /// Layouts of the arrays that were folded, by the record's name.
  std::map<std::string, const Layout *> Settled;
  std::vector<Report::Candidate> Candidates;
  std::vector<std::string> Warnings;
};

/// What folding works with.
struct FoldInput {
  std::vector<ProgramUnit> &Units;
  FileNames &Names; ///< follows the text
  const Options &O;
  const cost::Gpu &Gpu;
  const Sources &OnDisk;
  /// Makes the units' compilers, once.
  std::function<llvm::Error()> CreateCompilers;
  /// Reads the program where files have new text.
  std::function<llvm::Expected<ProgramReading>(llvm::ArrayRef<ptx::SourceText>)> Read;
  /// Adds refusals that the whole run knows of.
  std::function<void(Program &)> Check;
};

/// Folds one group after the other, each time the one that gains most.
llvm::Expected<FoldedProgram> foldArrays(ProgramReading Reading, const FoldInput &In);

} // namespace restride
