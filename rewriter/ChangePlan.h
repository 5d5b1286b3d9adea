// The second step's result: what becomes of each array and why, and the edits,
// each file's with hashes of its text before and after. People can read it, and
// --apply does what it says or nothing.
#pragma once

#include "rewriter/decide/Report.h"

#include "llvm/Support/Error.h"

namespace restride {

/// JSON, with the changes of \p R.
llvm::Expected<std::string> planText(const Report &R);

struct ChangePlan {
  std::vector<Report::Change> Changes;
  bool Applied = false; ///< all files are as the plan would make them already
};

/// The plan at \p Path on the files as they are now. Fails where one has another
/// text than the plan was made for.
llvm::Expected<ChangePlan> readPlan(const std::string &Path);

} // namespace restride
