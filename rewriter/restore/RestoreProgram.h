// Arrays that an earlier run moved, as arrays of structs again, so that this run
// decides about them like about any other.
//
// The restored program is proved and not trusted: it is parsed, its arrays take
// the layouts that the generated code names, and what comes out must have the
// tokens of the text that was read. Where that fails, somebody changed what the
// earlier run wrote, or it is not understood; the arrays then stay as they are.
#pragma once

#include "rewriter/decide/Describe.h"
#include "rewriter/read/ReadProgram.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>

namespace restride {

struct RestoredProgram {
  ProgramReading Reading;
  /// From the text on disk; nothing where none of it was restored.
  std::optional<Rewritten> Text;
  /// The layouts that arrays have on disk, by their candidate's name.
  std::map<std::string, const Layout *> Found;
  /// Arrays that stay in their layouts, and why.
  std::vector<Report::Candidate> LeftAlone;
};

using ReadAgain = llvm::function_ref<llvm::Expected<ProgramReading>(llvm::ArrayRef<ptx::SourceText>)>;

/// \p OnDisk is what a first reading of the program gave.
llvm::Expected<RestoredProgram> restoreProgram(ProgramReading OnDisk, const FileNames &Names, ReadAgain Read);

} // namespace restride
