#include "rewriter/read/Progress.h"

namespace restride {

/// Longer lines would break, and could not be taken back.
static constexpr size_t MaxColumns = 60;

void Progress::show(size_t Done, size_t Total, llvm::StringRef What) {
  if (!To || Total < 2)
    return;
  clear();
  *To << '[' << Done << '/' << Total << "] " << (What.size() > MaxColumns ? What.take_back(MaxColumns) : What);
  To->flush();
  Shown = true;
}

void Progress::clear() {
  if (Shown)
    *To << "\r\033[K";
  Shown = false;
}

} // namespace restride
