#include "rewriter/views/FixesView.h"
#include "rewriter/views/Diff.h"

#include "clang/Tooling/ReplacementsYaml.h"

namespace restride {
using namespace clang::tooling;

llvm::Expected<std::string> fixes(const Report &R) {
  TranslationUnitReplacements All;
  if (!R.Changes.empty())
    All.MainSourceFile = R.Changes.front().File;
  for (const Report::Change &Change : R.Changes) {
    llvm::Expected<std::vector<Hunk>> Hunks = hunks(Change);
    if (!Hunks)
      return Hunks.takeError();
    for (const Hunk &H : *Hunks)
      All.Replacements.emplace_back(Change.File, H.Offset, H.Length, H.Text);
  }
  std::string Out;
  llvm::raw_string_ostream OS(Out);
  llvm::yaml::Output Yaml(OS);
  Yaml << All;
  return Out;
}

} // namespace restride
