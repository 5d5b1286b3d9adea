#include "rewriter/CollectInputs.h"

#include "analysis/cost/Gpu.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace restride {
using namespace llvm;

static constexpr StringRef LookedForAbove[] = {ConfigName, ".clang-format", "_clang-format", "compile_commands.json"};

/// A system's folders do not change below a run's feet, and its files are known.
static bool isSystems(StringRef Folder) { return Folder.starts_with("/usr/") || Folder.starts_with("/opt/"); }

static void addAbove(StringRef File, RunInputs &To) {
  for (StringRef Folder = sys::path::parent_path(File); !Folder.empty(); Folder = sys::path::parent_path(Folder))
    for (StringRef Name : LookedForAbove) {
      SmallString<256> Path(Folder);
      sys::path::append(Path, Name);
      To.Files.insert(Path.str().str());
    }
}

/// Where -I and its like look, so that a new file there is seen.
static void addIncludeFolders(const SourceCommand &Command, RunInputs &To) {
  static constexpr StringRef Flags[] = {"-isystem", "-iquote", "-idirafter", "-I"};
  for (size_t I = 0; I < Command.Flags.size(); ++I)
    for (StringRef Flag : Flags) {
      StringRef Value = Command.Flags[I];
      if (!Value.consume_front(Flag))
        continue;
      if (Value.empty() && I + 1 < Command.Flags.size())
        Value = Command.Flags[I + 1];
      SmallString<256> Folder(Value);
      sys::path::make_absolute(Command.Directory, Folder);
      if (!isSystems(Folder))
        To.Folders.insert(Folder.str().str());
      break;
    }
}

void addInputs(const ProgramUnit &U, RunInputs &To) {
  To.Files.insert(U.Command.File);
  To.Files.insert(U.Command.ReadFrom.begin(), U.Command.ReadFrom.end());
  addAbove(U.Command.File, To);
  addIncludeFolders(U.Command, To);
  for (const std::string &Name : U.Read) {
    SmallString<256> File(Name);
    sys::path::make_absolute(U.Command.Directory, File);
    To.Files.insert(File.str().str());
    if (isSystems(File))
      continue;
    addAbove(File, To);
    To.Folders.insert(sys::path::parent_path(File).str());
  }
}

void addInputs(const Options &O, const CudaToolkit &Toolkit, RunInputs &To) {
  for (StringRef Name : {StringRef("include/cuda.h"), StringRef("bin/nvcc"), StringRef("nvvm/libdevice/libdevice.10.bc")})
    To.Files.insert(Toolkit.Path + "/" + Name.str());
  SmallString<256> Gpu(cost::gpuFile(O.Gpu));
  if (!sys::fs::make_absolute(Gpu))
    To.Files.insert(Gpu.str().str());
}

} // namespace restride
