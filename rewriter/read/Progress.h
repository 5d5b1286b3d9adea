// One line on a terminal that says how far a long run is: "[3/12] sim.cu".
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace restride {

class Progress {
public:
  /// Silent where \p To is no terminal, or null.
  explicit Progress(llvm::raw_ostream *To) : To(To && To->is_displayed() ? To : nullptr) {}
  ~Progress() { clear(); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// \p Done of \p Total are done, and \p What is next. One alone is not worth a line.
  void show(size_t Done, size_t Total, llvm::StringRef What);
  /// Before anything else is printed.
  void clear();

private:
  llvm::raw_ostream *To;
  bool Shown = false;
};

} // namespace restride
