#include "analysis/program/Sources.h"

#include "llvm/Support/Path.h"

#include <algorithm>

namespace restride {

static bool isBelow(llvm::StringRef Path, llvm::StringRef Root) {
  return Root.empty() || (Path.consume_front(Root) && (Path.starts_with("/") || Root.ends_with("/")));
}

const SourceFile &Sources::add(llvm::StringRef Path, llvm::StringRef NewText) {
  for (const SourceFile &F : Files)
    if (F.Path == Path)
      return F;
  unsigned Begin = Text.size();
  Text += NewText;
  Files.push_back({Path.str(), {Begin, unsigned(Text.size())}, isBelow(Path, Root)});
  Text += '\n'; // belongs to no file, so that no line goes over a border
  return Files.back();
}

const SourceFile &Sources::at(unsigned Offset) const {
  auto After = std::upper_bound(Files.begin(), Files.end(), Offset, [](unsigned O, const SourceFile &F) { return O < F.Text.Begin; });
  return *std::prev(After);
}

} // namespace restride
