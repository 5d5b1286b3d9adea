#include "rewriter/RunCache.h"

#include "rewriter/Apply.h"
#include "ptx/ToolkitHeaders.h"
#include "rewriter/OtherReaders.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <sys/stat.h>

namespace restride {
using namespace llvm;

/// Of the entry's form.
static constexpr StringRef Header = "restride cache 1\n";

static std::string hashOf(StringRef Text) {
  BLAKE3 Hash;
  Hash.update(Text);
  return toHex(Hash.final(), /*LowerCase=*/true);
}

// Texts one after the other, each after its length, so that any bytes may stand in them.

static void put(std::string &To, StringRef Text) { To += (Twine(Text.size()) + ":" + Text).str(); }

/// Takes the next text off \p From.
static std::optional<StringRef> take(StringRef &From) {
  size_t Size = 0;
  if (From.consumeInteger(10, Size) || !From.consume_front(":") || Size > From.size())
    return std::nullopt;
  StringRef Text = From.take_front(Size);
  From = From.drop_front(Size);
  return Text;
}

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

static bool writtenSince(const std::string &Path, std::chrono::system_clock::time_point Begin) {
  struct stat S;
  if (stat(Path.c_str(), &S) != 0)
    return false;
  // Times of files are those of the kernel's last tick.
  auto Written = std::chrono::seconds(S.st_ctim.tv_sec) + std::chrono::nanoseconds(S.st_ctim.tv_nsec) + std::chrono::milliseconds(20);
  return Written >= Begin.time_since_epoch();
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

RunCache::RunCache(ArrayRef<std::string> Key) : Begin(std::chrono::system_clock::now()) {
  std::string Folder = ptx::cacheFolder();
  if (Folder.empty())
    return;
  std::string All;
  for (const std::string &K : Key)
    put(All, K);
  SmallString<256> Entry(Folder);
  sys::path::append(Entry, "llvmcache-" + hashOf(All)); // as LLVM's pruning wants it
  Path = Entry.str().str();
}

/// Whether the inputs are as they were; takes them off \p Entry.
static bool isUnchanged(StringRef &Entry) {
  for (auto Same : {+[](const std::string &P, StringRef Then) { return namesIn(P) == Then; },
                    +[](const std::string &P, StringRef Then) { return sourcesIn(P) == Then; }}) {
    for (std::optional<StringRef> P = take(Entry); P && !P->empty(); P = take(Entry)) {
      std::optional<StringRef> Then = take(Entry);
      if (!Then || !Same(P->str(), *Then))
        return false;
    }
  }
  for (std::optional<StringRef> P = take(Entry); P && !P->empty(); P = take(Entry)) {
    std::optional<StringRef> Status = take(Entry), Contents = take(Entry);
    if (!Status || !Contents || (statusOf(P->str()) != *Status && contentsOf(P->str()) != *Contents))
      return false;
  }
  return true;
}

std::optional<RunOutput> RunCache::find() const {
  if (Path.empty())
    return std::nullopt;
  ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer = MemoryBuffer::getFile(Path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!Buffer)
    return std::nullopt;
  StringRef Entry = (*Buffer)->getBuffer();
  if (!Entry.consume_front(Header))
    return std::nullopt;
  std::optional<StringRef> Hash = take(Entry);
  if (!Hash || *Hash != hashOf(Entry) || !isUnchanged(Entry))
    return std::nullopt;
  std::optional<StringRef> Code = take(Entry), Out = take(Entry), Err = take(Entry);
  RunOutput Result;
  if (!Code || !Out || !Err || Code->getAsInteger(10, Result.ExitCode))
    return std::nullopt;
  Result.Out = Out->str();
  Result.Err = Err->str();
  return Result;
}

void RunCache::store(const RunInputs &Inputs, const RunOutput &Output) const {
  if (Path.empty() || any_of(Inputs.Files, [&](const std::string &F) { return writtenSince(F, Begin); }))
    return;
  std::string Entry;
  for (const std::string &Folder : Inputs.Folders) {
    put(Entry, Folder);
    put(Entry, namesIn(Folder));
  }
  put(Entry, "");
  for (const std::string &Tree : Inputs.Trees) {
    put(Entry, Tree);
    put(Entry, sourcesIn(Tree));
  }
  put(Entry, "");
  for (const std::string &File : Inputs.Files) {
    put(Entry, File);
    put(Entry, statusOf(File));
    put(Entry, contentsOf(File));
  }
  put(Entry, "");
  for (const std::string &Text : {std::to_string(Output.ExitCode), Output.Out, Output.Err})
    put(Entry, Text);
  std::string Whole = Header.str();
  put(Whole, hashOf(Entry));
  Whole += Entry;
  if (Error E = writeFile(Path, Whole))
    return consumeError(std::move(E)); // the next run is slow again, and no worse
  pruneCache(sys::path::parent_path(Path), CachePruningPolicy());
}

} // namespace restride
