#include "rewriter/read/OtherReaders.h"
#include "rewriter/command/IncludeLine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace restride {
using namespace llvm;

std::string projectRoot(ArrayRef<std::string> Files) {
  StringRef Folder = sys::path::parent_path(Files.front());
  for (StringRef F : Files)
    while (!Folder.empty() && !F.starts_with((Folder + "/").str()))
      Folder = sys::path::parent_path(Folder);
  for (StringRef Up = Folder; !Up.empty(); Up = sys::path::parent_path(Up)) {
    if (sys::fs::exists(Up + "/.git"))
      return Up.str();
    if (Up == sys::path::parent_path(Up))
      break;
  }
  return Folder.str();
}

static bool isSource(StringRef Path) {
  static const StringSet<> Endings{".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".C", ".h", ".hh", ".hpp", ".hxx", ".inl", ".tpp", ".ipp", ".tcc", ".inc"};
  return Endings.contains(sys::path::extension(Path));
}

/// \p File has an #include that means \p Header, as far as names can tell.
static bool readsHeader(StringRef File, StringRef Header) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer = MemoryBuffer::getFile(File);
  if (!Buffer)
    return false;
  for (StringRef Line : split((*Buffer)->getBuffer(), '\n')) {
    std::optional<IncludeLine> Included = includeLine(Line);
    if (!Included || sys::path::filename(Included->Name) != sys::path::filename(Header))
      continue;
    StringRef Name = Included->Name;
    SmallString<256> Beside(sys::path::parent_path(File)), Real;
    sys::path::append(Beside, Name);
    if (Included->Quoted && !sys::fs::real_path(Beside, Real)) {
      if (Real == Header)
        return true;
      continue; // another file of that name
    }
    while (Name.consume_front("../") || Name.consume_front("./"))
      ;
    if (Header.ends_with(("/" + Name).str()))
      return true;
  }
  return false;
}

std::vector<std::string> sourcesBelow(StringRef Root) {
  std::vector<std::string> Out;
  std::error_code EC;
  for (sys::fs::recursive_directory_iterator I(Root, EC, false), End; I != End && !EC; I.increment(EC)) {
    if (sys::path::filename(I->path()).starts_with("."))
      I.no_push();
    else if (isSource(I->path()))
      Out.push_back(I->path());
  }
  llvm::sort(Out);
  return Out;
}

std::optional<std::string> otherReader(StringRef Header, StringRef Root, ArrayRef<std::string> Read) {
  for (const std::string &Path : sourcesBelow(Root))
    if (!is_contained(Read, Path) && readsHeader(Path, Header))
      if (SmallString<256> Real; sys::fs::real_path(Path, Real) || !is_contained(Read, Real)) // no link to one
        return Path;
  return std::nullopt;
}

} // namespace restride
