#include "rewriter/command/CudaToolkit.h"

#include "rewriter/command/Unread.h"

#include "clang/Basic/Cuda.h"
#include "clang/Basic/Version.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/VersionTuple.h"

#include <optional>

namespace restride {
using namespace llvm;

/// CUDA_VERSION of include/cuda.h: 1000 * major + 10 * minor.
static std::optional<unsigned> versionOf(StringRef Root) {
  SmallString<128> Header(Root);
  sys::path::append(Header, "include", "cuda.h");
  ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer = MemoryBuffer::getFile(Header);
  if (!Buffer)
    return std::nullopt;
  StringRef Rest = (*Buffer)->getBuffer();
  StringRef Key = "#define CUDA_VERSION ";
  size_t At = Rest.find(Key);
  unsigned Version = 0;
  if (At == StringRef::npos || Rest.substr(At + Key.size()).ltrim().consumeInteger(10, Version))
    return std::nullopt;
  return Version;
}

static std::optional<CudaToolkit> toolkitAt(StringRef Root) {
  SmallString<128> Library(Root);
  sys::path::append(Library, "nvvm", "libdevice", "libdevice.10.bc");
  std::optional<unsigned> Version = versionOf(Root);
  if (!Version || !sys::fs::exists(Library))
    return std::nullopt;
  return CudaToolkit{Root.str(), *Version / 1000, *Version % 1000 / 10};
}

static Error noToolkitAt(StringRef Root, StringRef NamedBy) {
  return createStringError("no CUDA Toolkit in '" + Root + "' (" + NamedBy +
                           "): it has no include/cuda.h or no nvvm/libdevice/libdevice.10.bc");
}

/// The root around the nvcc on PATH, which is often a link into it.
static std::optional<CudaToolkit> toolkitOfNvccOnPath() {
  ErrorOr<std::string> Nvcc = sys::findProgramByName("nvcc");
  SmallString<128> Real;
  if (!Nvcc || sys::fs::real_path(*Nvcc, Real))
    return std::nullopt;
  return toolkitAt(sys::path::parent_path(sys::path::parent_path(Real)));
}

std::string remarkOnVersion(const CudaToolkit &Toolkit) {
  VersionTuple Version(Toolkit.Major, Toolkit.Minor);
  if (clang::ToCudaVersion(Version) <= clang::CudaVersion::PARTIALLY_SUPPORTED)
    return "";
  return ("CUDA " + Version.getAsString() + " is newer than Clang " CLANG_VERSION_STRING " knows, and is read as CUDA " +
          clang::CudaVersionToString(clang::CudaVersion::PARTIALLY_SUPPORTED));
}

Expected<CudaToolkit> findCudaToolkit(StringRef CudaPath) {
  if (!CudaPath.empty()) {
    if (std::optional<CudaToolkit> Found = toolkitAt(CudaPath))
      return *Found;
    return noToolkitAt(CudaPath, "--cuda-path");
  }
  for (const char *Variable : {"CUDA_PATH", "CUDA_HOME"}) {
    std::optional<std::string> Root = sys::Process::GetEnv(Variable);
    if (!Root || Root->empty())
      continue;
    if (std::optional<CudaToolkit> Found = toolkitAt(*Root))
      return *Found;
    return noToolkitAt(*Root, Variable);
  }
  if (std::optional<CudaToolkit> Found = toolkitOfNvccOnPath())
    return *Found;
  if (std::optional<CudaToolkit> Found = toolkitAt("/usr/local/cuda"))
    return *Found;
  return make_error<Unread>("no CUDA Toolkit found; pass --cuda-path=DIR or set CUDA_PATH");
}

} // namespace restride
