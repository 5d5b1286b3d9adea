#include "rewriter/Apply.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace restride {
using namespace llvm;

namespace {

/// One target and its new text in a temporary file beside it.
struct Staged {
  std::string Target; ///< no link
  sys::fs::TempFile New;
};

/// Holds signals back while it lives: between the making of a file and the note
/// that it goes when the process is interrupted, and while files are replaced.
class HoldInterrupts {
public:
  HoldInterrupts() {
    Came = 0;
    struct sigaction Hold = {};
    Hold.sa_handler = [](int) { Came = 1; };
    Hold.sa_flags = SA_RESTART;
    for (size_t I = 0; I < std::size(Signals); ++I)
      sigaction(Signals[I], &Hold, &Before[I]);
  }
  ~HoldInterrupts() {
    for (size_t I = 0; I < std::size(Signals); ++I)
      sigaction(Signals[I], &Before[I], nullptr);
  }

  static bool came() { return Came; }

private:
  static constexpr int Signals[] = {SIGINT, SIGTERM, SIGHUP};
  static inline volatile std::sig_atomic_t Came = 0;
  struct sigaction Before[3];
};

} // namespace

static volatile std::sig_atomic_t Replaced = 0;

bool filesWereReplaced() { return Replaced; }

static Error cannotWrite(StringRef Path, const Twine &Why) {
  return createStringError("cannot write '" + Path + "': " + Why);
}

static Error writeAll(sys::fs::TempFile &File, StringRef Text, StringRef Target) {
  raw_fd_ostream Out(File.FD, /*shouldClose=*/false);
  Out << Text;
  Out.flush();
  if (std::error_code EC = Out.error()) {
    Out.clear_error();
    return cannotWrite(Target, EC.message());
  }
  if (fsync(File.FD) != 0)
    return cannotWrite(Target, std::error_code(errno, std::generic_category()).message());
  return Error::success();
}

/// A temporary file beside \p Target that holds \p Text.
static Expected<sys::fs::TempFile> stageText(StringRef Target, StringRef Text, unsigned Mode) {
  SmallString<256> Model = sys::path::parent_path(Target);
  sys::path::append(Model, "." + sys::path::filename(Target) + ".%%%%%%%%.tmp");
  Expected<sys::fs::TempFile> File = sys::fs::TempFile::create(Model, Mode);
  if (!File)
    return cannotWrite(Target, toString(File.takeError()));
  if (Error E = writeAll(*File, Text, Target))
    return joinErrors(std::move(E), File->discard());
  return File;
}

/// Follows links and looks whether the target may be replaced.
static Expected<std::string> checkTarget(const Report::Change &Change) {
  SmallString<256> Target;
  if (std::error_code EC = sys::fs::real_path(Change.File, Target))
    return cannotWrite(Change.File, EC.message());
  struct stat Status;
  if (stat(Target.c_str(), &Status) != 0)
    return cannotWrite(Change.File, std::error_code(errno, std::generic_category()).message());
  // To root every file is writable; a user who took the bits away meant it.
  if (access(Target.c_str(), W_OK) != 0 || !(Status.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)))
    return cannotWrite(Change.File, "the file is read-only");
  ErrorOr<std::unique_ptr<MemoryBuffer>> Now = MemoryBuffer::getFile(Target, /*IsText=*/false,
                                                                     /*RequiresNullTerminator=*/false);
  if (!Now)
    return cannotWrite(Change.File, Now.getError().message());
  if ((*Now)->getBuffer() != Change.Before)
    return cannotWrite(Change.File, "the file changed while restride ran");
  return Target.str().str();
}

static Expected<Staged> stage(const std::string &Target, StringRef Text) {
  struct stat Status;
  if (stat(Target.c_str(), &Status) != 0)
    return cannotWrite(Target, std::error_code(errno, std::generic_category()).message());
  Expected<sys::fs::TempFile> New = stageText(Target, Text, sys::fs::owner_read | sys::fs::owner_write);
  if (!New)
    return New.takeError();
  // The owner of a file of somebody else cannot always be kept; its text can be
  // written all the same, as by any editor.
  bool SameOwner = fchown(New->FD, Status.st_uid, Status.st_gid) == 0;
  mode_t Mode = Status.st_mode & (SameOwner ? 07777 : 0777);
  if (fchmod(New->FD, Mode) != 0) {
    Error E = cannotWrite(Target, std::error_code(errno, std::generic_category()).message());
    return joinErrors(std::move(E), New->discard());
  }
  return Staged{Target, std::move(*New)};
}

static Error discard(MutableArrayRef<Staged> Files) {
  Error Result = Error::success();
  for (Staged &S : Files)
    Result = joinErrors(std::move(Result), S.New.discard());
  return Result;
}

/// Puts the old text back into the targets that were replaced already.
static Error putBack(ArrayRef<std::string> Targets, ArrayRef<Report::Change> Changes) {
  for (auto [Target, Change] : zip_first(Targets, Changes)) {
    Expected<Staged> Old = stage(Target, Change.Before);
    if (!Old)
      return Old.takeError();
    if (Error E = Old->New.keep(Target))
      return E;
  }
  return Error::success();
}

Error applyChanges(ArrayRef<Report::Change> Changes) {
  std::vector<std::string> Targets;
  for (const Report::Change &Change : Changes) {
    Expected<std::string> Target = checkTarget(Change);
    if (!Target)
      return Target.takeError();
    if (is_contained(Targets, *Target))
      return cannotWrite(Change.File, "two changes have this file as their target");
    Targets.push_back(std::move(*Target));
  }

  HoldInterrupts Guard;
  std::vector<Staged> Files;
  for (auto [Target, Change] : zip_equal(Targets, Changes)) {
    Expected<Staged> S = stage(Target, Change.After);
    if (!S)
      return joinErrors(S.takeError(), discard(Files));
    Files.push_back(std::move(*S));
    if (HoldInterrupts::came())
      return joinErrors(createStringError("interrupted; no file was changed"), discard(Files));
  }

  // From here on all files become new: it takes microseconds.
  for (size_t I = 0; I < Files.size(); ++I)
    if (Error E = Files[I].New.keep(Files[I].Target)) {
      Error Failed = cannotWrite(Files[I].Target, toString(std::move(E)));
      Failed = joinErrors(std::move(Failed), putBack(ArrayRef(Targets).take_front(I), Changes));
      return joinErrors(std::move(Failed), discard(MutableArrayRef(Files).drop_front(I + 1)));
    }
  if (!Files.empty())
    Replaced = 1;
  return Error::success();
}

Error writeFile(StringRef Path, StringRef Text) {
  StringRef Folder = sys::path::parent_path(Path);
  if (!Folder.empty())
    if (std::error_code EC = sys::fs::create_directories(Folder))
      return cannotWrite(Path, EC.message());
  if (sys::fs::is_directory(Path))
    return cannotWrite(Path, "it is a directory");
  // A device or a pipe (/dev/stdout) cannot be replaced, only written to.
  if (sys::fs::exists(Path) && !sys::fs::is_regular_file(Path)) {
    std::error_code EC;
    raw_fd_ostream Out(Path, EC);
    if (!EC) {
      Out << Text;
      Out.close();
      EC = Out.error();
      Out.clear_error();
    }
    return EC ? cannotWrite(Path, EC.message()) : Error::success();
  }
  HoldInterrupts Guard;
  Expected<sys::fs::TempFile> New = stageText(Path, Text, sys::fs::all_read | sys::fs::all_write);
  if (!New)
    return New.takeError();
  if (Error E = New->keep(Path))
    return cannotWrite(Path, toString(std::move(E)));
  return Error::success();
}

} // namespace restride
