// What an earlier run printed, for a run that would read the same bytes. A whole
// run is kept and not its parts: a decision hangs on all files of the program, and
// an unchanged codebase is the case that has to be fast.
//
// An entry's name is a hash of the tool, its command line and its surroundings. It
// holds stamps of every file and folder that the run read (InputStamps.h), and
// what the run printed.
#pragma once

#include "rewriter/read/InputStamps.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace restride {

struct RunOutput {
  int ExitCode = 0;
  std::string Out, Err; ///< of standard output and standard error
};

class RunCache {
public:
  /// \p Key: all that the output hangs on beside the contents of files. Without
  /// a folder for caches nothing is kept.
  explicit RunCache(llvm::ArrayRef<std::string> Key);

  /// Nothing if an input changed; a broken entry is none.
  std::optional<RunOutput> find() const;
  /// Keeps the output of a run that began with this object. Files that were
  /// written since then may have been read before or after: nothing is kept then.
  /// A cache that cannot be written is not worth an error.
  void store(const RunInputs &Inputs, const RunOutput &Output) const;

private:
  std::string Path; ///< of the entry; empty: no cache
  std::chrono::system_clock::time_point Begin;
};

} // namespace restride
