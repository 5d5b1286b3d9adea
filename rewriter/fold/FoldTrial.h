// One group of parallel arrays, folded and scored in its layouts.
#pragma once

#include "rewriter/decide/Decide.h"
#include "rewriter/fold/Fold.h"
#include "rewriter/read/ReadProgram.h"

#include <functional>

namespace restride {

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

/// The program that groups are taken from, with what was folded before.
struct FoldBase {
  ArrayProgram Arrays;
  Program Records; ///< the same program's arrays of records
  FileNames Names; ///< of places in its text
  std::map<std::string, const Layout *> Settled; ///< layouts of folded records, by name
  std::shared_ptr<VariantCompiler> Compiler;     ///< of its text as it is
};

FoldBase foldBase(ProgramReading Reading, FileNames Names, std::map<std::string, const Layout *> Settled, const FoldInput &In,
                  std::shared_ptr<VariantCompiler> Compiler);

/// What is known of the group before it is tried.
Report::Candidate describeGroup(const FoldBase &Base, const ParallelGroup &G, const FoldNames &Names);

/// A group and the best layout that its record can take.
struct FoldTrial {
  ParallelGroup Group;
  Report::Candidate Described;
  std::string Record;
  bool Idle = false;   ///< every request of it is coalesced, so it was not folded
  bool Silent = false; ///< no layout could do better, so nothing is said
  const Layout *Best = nullptr; ///< null: it cannot be folded, or need not
  cost::Score Before, After;    ///< of its kernels: the arrays as they are, and in the best layout
  std::optional<Rewritten> Text; ///< of the plain records, where the best layout is faster
  std::optional<ProgramReading> Reading;
  /// It was asked for, or gains enough by itself.
  bool moves() const { return Best && (Described.Outcome == Report::Status::Rewritten || Described.Outcome == Report::Status::Forced); }
  double saved() const { return Before.total() - After.total(); } ///< cycles, all launches
};

/// Folds the group and tries the layouts of its record.
llvm::Expected<FoldTrial> tryGroup(const FoldBase &Base, ParallelGroup Group, const FoldInput &In);

/// What a fold has to gain: it changes every line that names the arrays.
double leastSpeedup(const Options &O);

} // namespace restride
