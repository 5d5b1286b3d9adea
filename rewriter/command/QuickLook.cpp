#include "rewriter/command/QuickLook.h"
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

namespace {

/// Follows the #include lines of a file, those of the branches that are not
/// compiled too.
class Search {
public:
  explicit Search(const SourceCommand &Command) {
    ArrayRef<std::string> Flags = Command.Flags;
    for (size_t I = 0; I < Flags.size(); ++I) {
      StringRef Flag = Flags[I];
      bool Forced = Flag == "-include";
      if (!Forced && !Flag.consume_front("-iquote") && !Flag.consume_front("-I") && !Flag.consume_front("-isystem"))
        continue;
      if ((Forced || Flag.empty()) && ++I < Flags.size())
        Flag = Flags[I];
      SmallString<256> Path(Flag);
      sys::path::make_absolute(Command.Directory, Path);
      (Forced ? Left : Folders).push_back(Path.str().str());
    }
    Left.push_back(Command.File);
  }

  bool run() {
    while (!Left.empty()) {
      std::string File = std::move(Left.back());
      Left.pop_back();
      SmallString<256> Real;
      if (sys::fs::real_path(File, Real) || !Seen.insert(Real).second)
        continue;
      ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer = MemoryBuffer::getFile(Real);
      if (!Buffer)
        return true; // the parse says what is wrong with it
      StringRef Text = (*Buffer)->getBuffer();
      if (Text.contains("__global__"))
        return true;
      for (StringRef Line : split(Text, '\n'))
        if (std::optional<IncludeLine> Included = includeLine(Line))
          follow(*Included, sys::path::parent_path(File));
    }
    return false;
  }

private:
  void follow(const IncludeLine &Included, StringRef Folder) {
    if (Included.Quoted && add(Folder, Included.Name))
      return;
    (void)any_of(Folders, [&](const std::string &F) { return add(F, Included.Name); });
  }

  bool add(StringRef Folder, StringRef Name) {
    SmallString<256> Path(Folder);
    sys::path::append(Path, Name);
    if (!sys::fs::is_regular_file(Path))
      return false;
    Left.push_back(Path.str().str());
    return true;
  }

  std::vector<std::string> Folders, Left;
  StringSet<> Seen;
};

} // namespace

bool mayHaveKernel(const SourceCommand &Command) { return Search(Command).run(); }

bool isHeader(StringRef Path) {
  static const StringSet<> Endings{".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".inc", ".ipp", ".tpp", ".tcc"};
  return Endings.contains(sys::path::extension(Path));
}

} // namespace restride
