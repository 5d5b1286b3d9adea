// Writes the files of a plan: all of them, or none.
#pragma once

#include "rewriter/decide/Report.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace restride {

/// Every new text goes to a temporary file beside its target first; then the
/// targets are replaced by renaming. Links stay links and files keep their
/// permissions. A target that is read-only, or that is no longer what was
/// parsed, is an error before anything is changed; so is an interrupt while the
/// new texts are written.
llvm::Error applyChanges(llvm::ArrayRef<Report::Change> Changes);

/// Whether applyChanges has replaced files in this process. For signal handlers.
bool filesWereReplaced();

/// Writes one file of the tool's own (a report, a variant) through a temporary
/// file, with the folders it needs.
llvm::Error writeFile(llvm::StringRef Path, llvm::StringRef Text);

} // namespace restride
