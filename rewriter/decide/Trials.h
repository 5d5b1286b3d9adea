// One candidate in its layouts: each written, compiled and scored.
#pragma once

#include "rewriter/command/Options.h"
#include "rewriter/decide/Describe.h"
#include "rewriter/decide/Scoring.h"

#include <map>

namespace restride {

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

/// Candidate \p I in \p L, not yet run; refused where the layout says so.
Trial trial(size_t I, const Layout &L, const Plan &Base, const DecideInput &In);

/// Writes, compiles and scores; what does not compile is a refusal of this layout.
void runTrial(Trial &T, size_t I, const DecideInput &In, VariantCompiler &Compiler, llvm::ArrayRef<std::string> Kernels);

/// Kernels whose time can differ when \p I moves: those that take it, and those
/// that take another array of its record, which an alignment in place changes too.
std::vector<std::string> affectedKernels(const Program &P, size_t I);

/// The layout that \p I has on disk.
const Layout *foundLayout(const DecideInput &In, size_t I);

cost::Model modelOf(const Options &O);

/// The least predicted speed-up that is worth a change.
double leastGain(const Options &O);

} // namespace restride
