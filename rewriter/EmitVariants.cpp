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
