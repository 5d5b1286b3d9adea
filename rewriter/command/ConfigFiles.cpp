// Where configurations lie.
#include "rewriter/command/Config.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace restride {
using namespace llvm;

/// Nobody writes so much by hand, and a parser takes it apart for minutes.
static constexpr uint64_t MaxConfigBytes = 1 << 20;

static Expected<Config> readConfig(const std::string &Path) {
  uint64_t Size = 0;
  if (std::error_code EC = sys::fs::file_size(Path, Size))
    return createStringError(EC, Path + ": " + EC.message());
  if (Size > MaxConfigBytes)
    return createStringError(Path + ": " + Twine(Size) + " bytes are too many for a configuration");
  ErrorOr<std::unique_ptr<MemoryBuffer>> Text = MemoryBuffer::getFile(Path);
  if (!Text)
    return createStringError(Text.getError(), Path + ": " + Text.getError().message());
  Expected<Config> C = parseConfig((*Text)->getBuffer(), Path);
  if (!C || !C->Gpu || !StringRef(*C->Gpu).ends_with(".yaml") || sys::path::is_absolute(*C->Gpu))
    return C;
  SmallString<256> Profile(sys::path::parent_path(Path));
  sys::path::append(Profile, *C->Gpu);
  C->Gpu = Profile.str().str();
  return C;
}

Expected<Config> findConfig(StringRef File, std::vector<std::string> &Used) {
  SmallString<256> Absolute(File);
  if (std::error_code EC = sys::fs::make_absolute(Absolute))
    return createStringError(EC, "'" + File + "': " + EC.message());
  sys::path::remove_dots(Absolute, /*remove_dot_dot=*/true);
  std::optional<Config> Out;
  for (StringRef Folder = sys::path::parent_path(Absolute); !Folder.empty(); Folder = sys::path::parent_path(Folder)) {
    SmallString<256> Path(Folder);
    sys::path::append(Path, ConfigName);
    if (!sys::fs::exists(Path))
      continue;
    Expected<Config> C = readConfig(Path.str().str());
    if (!C)
      return C.takeError();
    Used.push_back(Path.str().str());
    bool More = C->InheritParent;
    Out = Out ? inherit(std::move(*Out), *C) : std::move(*C);
    if (!More)
      break;
  }
  return Out ? std::move(*Out) : Config();
}

} // namespace restride
