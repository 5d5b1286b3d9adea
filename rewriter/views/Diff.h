// The unified diff of a change, by the diff program that every Unix has.
#pragma once

#include "rewriter/decide/Report.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace restride {

/// "--- a/sim.cu", "+++ b/sim.cu" and the hunks; empty where nothing changes.
llvm::Expected<std::string> unifiedDiff(const Report::Change &Change);

/// Whole lines that others replace.
struct Hunk {
  size_t Offset = 0, Length = 0; ///< bytes in the text before
  std::string Text;
};

/// The hunks of a change, in order.
llvm::Expected<std::vector<Hunk>> hunks(const Report::Change &Change);

/// Prints a diff, in colour where \p OS is a terminal.
void printDiff(llvm::StringRef Diff, llvm::raw_ostream &OS);

} // namespace restride
