#include "ptx/compile/TemporaryFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

namespace restride {
using namespace llvm;

Expected<TemporaryFile> TemporaryFile::create(StringRef Suffix, StringRef Text) {
  SmallString<128> Path;
  int Descriptor = -1;
  if (std::error_code EC = sys::fs::createTemporaryFile("restride", Suffix, Descriptor, Path))
    return createStringError(EC, "cannot make a temporary file: " + EC.message());
  sys::RemoveFileOnSignal(Path);
  TemporaryFile File(Path.str().str());
  raw_fd_ostream Out(Descriptor, /*shouldClose=*/true);
  Out << Text;
  Out.close();
  if (std::error_code EC = Out.error()) {
    Out.clear_error();
    return createStringError(EC, "cannot write '" + Path + "': " + EC.message());
  }
  return File;
}

TemporaryFile::~TemporaryFile() {
  if (Path.empty())
    return;
  // Nothing better can be done about a file that does not go away.
  (void)sys::fs::remove(Path);
  sys::DontRemoveFileOnSignal(Path);
}

Expected<std::string> TemporaryFile::read() const {
  ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer = MemoryBuffer::getFile(Path);
  if (!Buffer)
    return createStringError(Buffer.getError(), "cannot read '" + Path + "': " + Buffer.getError().message());
  return (*Buffer)->getBuffer().str();
}

} // namespace restride
