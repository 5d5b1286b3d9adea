// Finds a profile by name or path. Shipped profiles lie in the source tree
// while building, beside the installed executable, or in the install prefix.
#include "analysis/cost/Gpu.h"
#include "analysis/cost/Suggest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace restride::cost {

/// Its address tells the system which executable this is.
static int Anchor;

static std::vector<std::string> profileDirectories() {
  std::vector<std::string> Dirs;
#ifdef RESTRIDE_GPU_SOURCE_DIR
  Dirs.push_back(RESTRIDE_GPU_SOURCE_DIR);
#endif
  std::string Exe = sys::fs::getMainExecutable(nullptr, &Anchor);
  if (!Exe.empty()) {
    SmallString<256> Dir(sys::path::parent_path(sys::path::parent_path(Exe)));
    sys::path::append(Dir, "share", "restride", "gpus");
    Dirs.push_back(std::string(Dir));
  }
#ifdef RESTRIDE_GPU_INSTALL_DIR
  Dirs.push_back(RESTRIDE_GPU_INSTALL_DIR);
#endif
  return Dirs;
}

/// The first directory that exists; empty if none does.
static std::string profileDirectory() {
  for (std::string &Dir : profileDirectories())
    if (sys::fs::is_directory(Dir))
      return Dir;
  return {};
}

std::vector<std::string> shippedGpus() {
  std::vector<std::string> Names;
  std::string Dir = profileDirectory();
  if (Dir.empty())
    return Names;
  std::error_code EC;
  for (sys::fs::directory_iterator It(Dir, EC), End; It != End && !EC; It.increment(EC))
    if (sys::path::extension(It->path()) == ".yaml")
      Names.push_back(sys::path::stem(It->path()).str());
  llvm::sort(Names);
  return Names;
}

static Error unknownGpu(StringRef Name, ArrayRef<std::string> Known) {
  if (Known.empty())
    return createStringError("unknown GPU '" + Name + "'; no profiles are installed, give a .yaml file");
  SmallVector<StringRef> Names(Known.begin(), Known.end());
  return createStringError("unknown GPU '" + Name + "'" + didYouMean(Name, Names) + " (known: " + join(Known, ", ") +
                           ", or a .yaml file)");
}

Expected<std::string> readShipped(StringRef Name) {
  SmallString<256> Path(profileDirectory());
  sys::path::append(Path, Name);
  ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer = MemoryBuffer::getFile(Path, /*IsText=*/true);
  if (!Buffer)
    return createStringError(Buffer.getError(), "cannot read '" + Path + "': " + Buffer.getError().message());
  return (*Buffer)->getBuffer().str();
}

std::string gpuFile(StringRef NameOrFile) {
  if (NameOrFile.ends_with(".yaml") || NameOrFile.ends_with(".yml"))
    return NameOrFile.str();
  SmallString<256> Path(profileDirectory());
  sys::path::append(Path, NameOrFile + ".yaml");
  return Path.str().str();
}

Expected<Gpu> loadGpu(StringRef NameOrFile) {
  std::string File = gpuFile(NameOrFile);
  if (File != NameOrFile) {
    std::vector<std::string> Known = shippedGpus();
    if (!is_contained(Known, NameOrFile))
      return unknownGpu(NameOrFile, Known);
  }
  ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer = MemoryBuffer::getFile(File, /*IsText=*/true);
  if (!Buffer)
    return createStringError(Buffer.getError(),
                             "cannot read GPU profile '" + File + "': " + Buffer.getError().message());
  return parseGpu((*Buffer)->getBuffer(), File);
}

} // namespace restride::cost
