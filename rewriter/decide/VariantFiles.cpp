#include "rewriter/decide/VariantFiles.h"

namespace restride {
using namespace llvm;

/// The deepest folder that all \p Paths lie in, with its last slash.
static std::string commonFolder(ArrayRef<StringRef> Paths) {
  StringRef Folder = Paths.front().take_front(Paths.front().rfind('/') + 1);
  for (StringRef P : Paths)
    while (!P.starts_with(Folder))
      Folder = Folder.take_front(Folder.drop_back().rfind('/') + 1);
  return Folder.str();
}

std::vector<Report::VariantFile> variantFiles(const Program &P, ArrayRef<ProgramUnit> Units, const Rewritten &Text, const Compiled &Code) {
  std::map<size_t, std::string> Ptx; // by main file, the first a unit reads
  for (size_t U = 0; U < Units.size(); ++U)
    Ptx[Units[U].Files.front()] = Code[U]->Ptx;
  ArrayRef<SourceFile> Files = P.Text.files();
  std::vector<StringRef> Needed;
  for (size_t I = 0; I < Files.size(); ++I)
    if (Ptx.count(I) || llvm::any_of(P.Candidates, [&](const Candidate &C) { return is_contained(C.Headers, Files[I].Text.Begin); }))
      Needed.push_back(Files[I].Path);
  std::string Folder = commonFolder(Needed);
  std::vector<Report::VariantFile> Out;
  for (size_t I = 0; I < Files.size(); ++I)
    if (StringRef Path = Files[I].Path; Files[I].Editable && Path.consume_front(Folder))
      Out.push_back({Path.str(), Text.file(I).str(), Ptx[I]});
  return Out;
}

} // namespace restride
