#include "analysis/program/Skipped.h"

#include "clang/Basic/CharInfo.h"

namespace restride {

/// Names of the candidate that text at \p R can use. One letter is everybody's,
/// so it counts in its own function only.
static std::vector<std::string> namesAt(const Range &R, const Candidate &C, llvm::ArrayRef<NodeId> Class, const Flow &Graph) {
  std::vector<std::string> Out;
  if (!Graph.scalars()) // everybody says "float"
    Out.push_back(C.Type.Name);
  bool Inside = false;
  for (NodeId N : Class) {
    const NodeFacts &F = Graph.facts(N);
    bool Here = F.Scope && F.Scope->contains(R);
    Inside |= Here;
    // Arrays of numbers have the names of many others. Another function may
    // call the one that gets the pointer.
    if (Graph.scalars() && !F.Function.empty() && !Here) {
      if (!F.Slot.empty())
        Out.push_back(F.Function);
      continue;
    }
    if (F.Name.size() > 1 || Here || F.Function.empty())
      Out.push_back(F.Name);
  }
  for (const Alias &A : C.Aliases)
    if ((A.Name.size() > 1 && !Graph.scalars()) || Inside)
      Out.push_back(A.Name);
  return Out;
}

/// Offset in \p Text of the first word that is one of \p Names.
static std::optional<std::pair<size_t, std::string>> firstName(llvm::StringRef Text, llvm::ArrayRef<std::string> Names) {
  for (size_t I = 0; I < Text.size();) {
    if (Text.substr(I).starts_with("//") || Text.substr(I).starts_with("/*")) {
      I = std::min(Text[I + 1] == '/' ? Text.find('\n', I) : Text.find("*/", I + 2), Text.size());
      continue;
    }
    if (!clang::isAsciiIdentifierStart(Text[I])) {
      ++I;
      continue;
    }
    size_t End = I;
    while (End < Text.size() && clang::isAsciiIdentifierContinue(Text[End]))
      ++End;
    if (llvm::is_contained(Names, Text.slice(I, End)))
      return {{I, Text.slice(I, End).str()}};
    I = End;
  }
  return std::nullopt;
}

void checkSkipped(Candidate &C, llvm::ArrayRef<NodeId> Class, const ProgramFacts &Facts) {
  for (const auto &[Begin, Ranges] : Facts.Skipped)
    for (const Range &R : Ranges) {
      auto Found = firstName(Facts.Text.text(R), namesAt(R, C, Class, Facts.Graph));
      if (!Found)
        continue;
      const SourceFile &File = Facts.Text.at(R.Begin);
      llvm::StringRef Before = Facts.Text.text({File.Text.Begin, R.Begin + unsigned(Found->first)});
      unsigned Line = Before.count('\n') + 1, Column = Before.size() - (Before.rfind('\n') + 1) + 1;
      C.OtherConfiguration = Refusal{"", {File.Path, Line, Column}, "'" + Found->second + "' is used in text that the preprocessor leaves out here"};
      return;
    }
}

} // namespace restride
