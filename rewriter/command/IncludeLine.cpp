#include "rewriter/command/IncludeLine.h"

namespace restride {
using namespace llvm;

std::optional<IncludeLine> includeLine(StringRef Line) {
  Line = Line.ltrim();
  if (!Line.consume_front("#"))
    return std::nullopt;
  Line = Line.ltrim();
  size_t At = Line.starts_with("include") ? Line.find_first_of("\"<") : StringRef::npos;
  if (At == StringRef::npos)
    return std::nullopt;
  IncludeLine Out;
  Out.Quoted = Line[At] == '"';
  Out.Name = Line.drop_front(At + 1).split(Out.Quoted ? '"' : '>').first;
  return Out.Name.empty() ? std::nullopt : std::optional(Out);
}

} // namespace restride
