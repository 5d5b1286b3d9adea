#include "rewriter/RunCache.h"

#include "ptx/compile/ToolkitHeaders.h"
#include "rewriter/Apply.h"
#include "rewriter/read/InputStamps.h"
#include "rewriter/read/Packed.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace restride {
using namespace llvm;

/// Of the entry's form.
static constexpr StringRef Header = "restride cache 1\n";

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
  if (!Hash || *Hash != hashOf(Entry) || changedInput(Entry))
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
  if (Path.empty() || writtenSince(Inputs.Files, Begin))
    return;
  std::string Entry = stampsOf(Inputs);
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
