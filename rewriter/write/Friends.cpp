#include "rewriter/write/Friends.h"

namespace restride {

/// How far the members are indented that follow the line break at \p At.
static llvm::StringRef memberIndent(llvm::StringRef Source, unsigned At) {
  for (llvm::StringRef Rest = Source.substr(At); !Rest.empty();) {
    llvm::StringRef Line = Rest.split('\n').first, Text = Line.trim();
    Rest = Rest.split('\n').second;
    bool Label = Text.starts_with("public") || Text.starts_with("private") || Text.starts_with("protected");
    if (!Text.empty() && !Label && !Text.starts_with("#"))
      return Line.take_while([](char C) { return C == ' ' || C == '\t'; });
  }
  return "  ";
}

std::optional<Edit> friendEdit(const Move &M, llvm::StringRef Source) {
  if (!M.C.FriendAt || M.L.elementIsRecord())
    return std::nullopt;
  unsigned At = *M.C.FriendAt;
  std::string Line = "friend struct " + M.Handle + ";";
  llvm::StringRef Rest = Source.substr(At);
  if (!Rest.starts_with("\n") && !Rest.starts_with("\r\n"))
    return Edit{{At, At}, {" " + Line}};
  return Edit{{At, At}, {"\n" + memberIndent(Source, At).str() + Line}};
}

} // namespace restride
