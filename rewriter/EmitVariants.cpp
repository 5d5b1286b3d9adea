#include "rewriter/EmitVariants.h"

#include "rewriter/Apply.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

namespace restride {
using namespace llvm;

/// A folder name for a candidate that no other candidate has.
static std::string folderName(const Report::Candidate &C, StringSet<> &Taken) {
  auto Plain = [](std::string Name) {
    for (char &Ch : Name)
      if (!isAlnum(Ch) && Ch != '_')
        Ch = '-';
    return Name;
  };
  std::string Name = Plain(C.Name);
  if (!Taken.insert(Name).second) {
    Name += "-" + Plain(C.Array);
    for (unsigned I = 2; !Taken.insert(Name).second; ++I)
      Name += std::to_string(I);
  }
  return Name;
}

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

Error emitVariants(const Report &R, StringRef Folder) {
  StringSet<> Taken;
  for (const Report::Candidate &C : R.Candidates) {
    std::string Name = folderName(C, Taken);
    for (const Report::Variant &V : C.Variants)
      for (const Report::VariantFile &F : V.Files) {
        SmallString<256> Path(Folder);
        sys::path::append(Path, Name, V.Layout, F.File);
        if (Error E = writeFile(Path, F.Text))
          return E;
        if (F.Ptx.empty())
          continue;
        if (Error E = writeFile((Path + ".ptx").str(), F.Ptx))
          return E;
      }
  }
  return Error::success();
}

} // namespace restride
