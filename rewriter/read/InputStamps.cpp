#include "rewriter/read/InputStamps.h"

#include "rewriter/read/OtherReaders.h"
#include "rewriter/read/Packed.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <sys/stat.h>

namespace restride {
using namespace llvm;

/// What changes when somebody writes to the file.
static std::string statusOf(const std::string &Path) {
  struct stat S;
  if (stat(Path.c_str(), &S) != 0)
    return "";
  std::string Out;
  for (uint64_t N : {uint64_t(S.st_dev), uint64_t(S.st_ino), uint64_t(S.st_mode), uint64_t(S.st_size), uint64_t(S.st_mtim.tv_sec),
                     uint64_t(S.st_mtim.tv_nsec), uint64_t(S.st_ctim.tv_sec), uint64_t(S.st_ctim.tv_nsec)})
    Out += utostr(N) + " ";
  return Out;
}

static bool isWrittenSince(const std::string &Path, Time Begin) {
  struct stat S;
  if (stat(Path.c_str(), &S) != 0)
    return false;
  // Times of files are those of the kernel's last tick.
  auto Written = std::chrono::seconds(S.st_ctim.tv_sec) + std::chrono::nanoseconds(S.st_ctim.tv_nsec) + std::chrono::milliseconds(20);
  return Written >= Begin.time_since_epoch();
}

std::optional<std::string> writtenSince(const std::set<std::string> &Files, Time Begin) {
  auto At = find_if(Files, [&](const std::string &F) { return isWrittenSince(F, Begin); });
  return At == Files.end() ? std::nullopt : std::optional(*At);
}

static std::string contentsOf(const std::string &Path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer = MemoryBuffer::getFile(Path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  return Buffer ? hashOf((*Buffer)->getBuffer()) : "none";
}

/// The names in a folder, without those of hidden files, which editors make.
static std::string namesIn(const std::string &Folder) {
  std::set<std::string> Names;
  std::error_code EC;
  for (sys::fs::directory_iterator I(Folder, EC), End; I != End && !EC; I.increment(EC))
    if (StringRef Name = sys::path::filename(I->path()); !Name.starts_with("."))
      Names.insert(Name.str());
  return hashOf(join(Names, "/"));
}

/// The sources of a tree, each with its status.
static std::string sourcesIn(const std::string &Tree) {
  std::string Out;
  for (const std::string &Path : sourcesBelow(Tree))
    Out += Path + "/" + statusOf(Path) + "\n";
  return hashOf(Out);
}

std::string stampsOf(const RunInputs &Inputs) {
  std::string Out;
  for (const std::string &Folder : Inputs.Folders) {
    put(Out, Folder);
    put(Out, namesIn(Folder));
  }
  put(Out, StringRef());
  for (const std::string &Tree : Inputs.Trees) {
    put(Out, Tree);
    put(Out, sourcesIn(Tree));
  }
  put(Out, StringRef());
  for (const std::string &File : Inputs.Files) {
    put(Out, File);
    put(Out, statusOf(File));
    put(Out, contentsOf(File));
  }
  put(Out, StringRef());
  return Out;
}

std::optional<std::string> changedInput(StringRef &From) {
  for (auto Now : {namesIn, sourcesIn}) {
    std::optional<StringRef> P = take(From);
    for (; P && !P->empty(); P = take(From)) {
      std::optional<StringRef> Then = take(From);
      if (!Then || Now(P->str()) != *Then)
        return P->str();
    }
    if (!P)
      return "";
  }
  std::optional<StringRef> P = take(From);
  for (; P && !P->empty(); P = take(From)) {
    std::optional<StringRef> Status = take(From), Contents = take(From);
    if (!Status || !Contents || (statusOf(P->str()) != *Status && contentsOf(P->str()) != *Contents))
      return P->str();
  }
  return P ? std::nullopt : std::optional<std::string>("");
}

} // namespace restride
