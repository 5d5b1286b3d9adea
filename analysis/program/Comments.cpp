#include "analysis/program/Comments.h"

#include "llvm/ADT/StringExtras.h"

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

static bool hasMark(llvm::StringRef Comment) {
  static constexpr llvm::StringRef Mark = "NORESTRIDE";
  size_t At = Comment.find(Mark);
  if (At == llvm::StringRef::npos)
    return false;
  llvm::StringRef Before = Comment.take_front(At), After = Comment.substr(At + Mark.size());
  auto IsPart = [](char C) { return llvm::isAlnum(C) || C == '_'; };
  return !(!Before.empty() && IsPart(Before.back())) && !(!After.empty() && IsPart(After.front()));
}

bool asksToStay(llvm::StringRef Text, unsigned Line) {
  if (!Text.contains("NORESTRIDE")) // nearly always
    return false;
  llvm::StringRef Above, Own;
  for (unsigned I = 0; I < Line; ++I) {
    Above = Own;
    std::tie(Own, Text) = Text.split('\n');
  }
  size_t Comment = std::min(Own.find("//"), Own.find("/*"));
  if (Comment != llvm::StringRef::npos && hasMark(Own.substr(Comment)))
    return true;
  Above = Above.trim();
  return (Above.starts_with("//") || (Above.starts_with("/*") && Above.ends_with("*/"))) && hasMark(Above);
}

} // namespace restride
