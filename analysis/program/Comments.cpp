#include "analysis/program/Comments.h"

namespace restride {

size_t commentAbove(llvm::StringRef Text, size_t At) {
  size_t Begin = Text.take_front(At).rfind('\n') + 1;
  while (Begin > 0) {
    size_t Above = Text.take_front(Begin - 1).rfind('\n') + 1;
    if (!Text.substr(Above).ltrim(" \t").starts_with("//"))
      break;
    Begin = Above;
  }
  return Begin;
}

} // namespace restride
