#include "analysis/program/PointerAssignment.h"

namespace restride {

static bool isWord(char C) { return isalnum((unsigned char)C) || C == '_'; }

std::optional<PointerAssignment> assignmentToMember(Range Value, llvm::StringRef Source) {
  if (!Source.substr(Value.End).ltrim().starts_with(";"))
    return std::nullopt;
  llvm::StringRef Before = Source.take_front(Value.Begin).rtrim();
  if (!Before.consume_back("="))
    return std::nullopt;
  Before = Before.rtrim();
  unsigned End = Before.size();
  // Names, dots and arrows; a comparison or "+=" is none of these.
  while (!Before.empty() && (isWord(Before.back()) || Before.ends_with(".") || Before.ends_with("->")))
    Before = Before.drop_back(Before.ends_with("->") ? 2 : 1);
  unsigned Begin = Before.size();
  llvm::StringRef Target = Source.slice(Begin, End);
  size_t Dot = Target.find_last_of(".>");
  if (Dot == llvm::StringRef::npos || Dot + 1 == Target.size() || Dot == 0)
    return std::nullopt;
  Before = Before.rtrim();
  if (!Before.ends_with(";") && !Before.ends_with("{") && !Before.ends_with("}"))
    return std::nullopt;
  unsigned Member = Begin + Dot + 1;
  return PointerAssignment{{Begin, Value.End}, {Begin, Member}, {Member, End}};
}

} // namespace restride
