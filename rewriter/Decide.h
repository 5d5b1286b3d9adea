// Chooses a layout for each candidate of a program.
#pragma once

#include "rewriter/Describe.h"
#include "rewriter/Options.h"
#include "rewriter/Scoring.h"

#include <map>

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
  /// Layouts that are settled, by the record's name.
  std::map<std::string, const Layout *> Settled = {};
  /// Layouts that arrays have on disk, where the program is a restored one; by
  /// the candidate's name.
  std::map<std::string, const Layout *> Found = {};
  /// Names of layouts to try beside the original; empty: all that are asked for.
  std::vector<std::string> Only = {};
};

/// One layout of one candidate: a score or a refusal.
struct Trial {
  const Layout *L = nullptr;
  Plan Layouts;
  Rewritten Text;
  Compiled Code;
  cost::Score Score;
  std::optional<Refusal> Refused;
};

/// Candidate \p I in all layouts that were asked for, the one it has first; the
/// others keep their layouts in \p Base. Only the first is there if it is refused.
std::vector<Trial> tryLayouts(const DecideInput &In, size_t I, const Plan &Base, VariantCompiler &Compiler);

/// The candidate's variants and refusals, as far as they were tried.
void addTrials(Report::Candidate &To, llvm::ArrayRef<Trial> Trials, const DecideInput &In, size_t I);

cost::Model modelOf(const Options &O);
bool isWanted(const Candidate &C, const Options &O);

/// Takes one candidate after the other, each against the layouts that those
/// before it got. One whose kernels a later one changed is looked at once more,
/// from the plan that was found. Fails if the program as it is does not compile.
llvm::Expected<Decision> decide(const DecideInput &In, VariantCompiler &Compiler);

} // namespace restride
