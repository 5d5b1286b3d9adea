#include "rewriter/RunKey.h"

#include "rewriter/command/CudaToolkit.h"

#include "clang/Basic/Version.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"

namespace restride {
using namespace llvm;

/// A program or library as it was installed.
static std::string versionOf(const std::string &Path) {
  sys::fs::file_status Status;
  if (sys::fs::status(Path, Status))
    return Path;
  return Path + " " + std::to_string(Status.getSize()) + " " + std::to_string(Status.getLastModificationTime().time_since_epoch().count());
}

std::vector<std::string> runKey(const Options &O, ArrayRef<const char *> Args) {
  static int Anchor;
  std::vector<std::string> Key = {RESTRIDE_VERSION, clang::getClangFullVersion(), versionOf(sys::fs::getMainExecutable("", &Anchor))};
  Key.insert(Key.end(), Args.begin(), Args.end());
  append_range(Key, O.Files); // a hook makes several runs of one command line
  SmallString<256> Current;
  if (!sys::fs::current_path(Current))
    Key.push_back(Current.str().str());
  // One that is missing is an error, which is not kept.
  if (Expected<CudaToolkit> Toolkit = findCudaToolkit(O.CudaPath))
    Key.push_back(Toolkit->Path);
  else
    consumeError(Toolkit.takeError());
  for (const char *Name : {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"})
    Key.push_back(sys::Process::GetEnv(Name).value_or(""));
  Key.push_back(outs().has_colors() ? "colour" : "");
  Key.push_back(errs().has_colors() ? "colour" : "");
  return Key;
}

} // namespace restride
