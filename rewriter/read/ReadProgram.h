// Translation units to facts.
#pragma once

#include "analysis/program/ProgramFacts.h"
#include "rewriter/command/CudaToolkit.h"
#include "rewriter/read/Progress.h"
#include "rewriter/read/VariantCompiler.h"

namespace restride {

/// What is read of a program: its arrays of records, and its arrays of numbers.
struct ProgramReading {
  ProgramFacts Records, Arrays;
};

struct ParsedSource;

/// ASTs of units that no changed text was part of, by the unit, for the next time.
struct KeptAsts {
  struct One {
    std::shared_ptr<ParsedSource> Parsed;
    std::vector<std::string> Files; ///< that it read
  };
  std::map<size_t, One> Units;
};

struct ReadOptions {
  unsigned Jobs = 1;         ///< units parsed at a time
  Progress *Shown = nullptr; ///< says which unit is next
};

/// Parses \p Units, some of them ahead, and reads one after the other; an AST ends where its facts are read, if
/// nobody keeps it. Files of \p Changed have new text. Editable are the files below \p Root.
llvm::Expected<ProgramReading> readProgram(std::vector<ProgramUnit> &Units, const CudaToolkit &Toolkit, const std::string &Root,
                                           llvm::ArrayRef<ptx::SourceText> Changed = {}, KeptAsts *Kept = nullptr, ReadOptions How = {});

/// The files that \p Text changes, to read the program with.
std::vector<ptx::SourceText> changedFiles(const Rewritten &Text, const Sources &OnDisk);

} // namespace restride
