#include "ptx/compile/TemporaryTree.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <filesystem>

namespace restride::ptx {
using namespace llvm;

Expected<TemporaryTree> TemporaryTree::create() {
  SmallString<128> Root;
  if (std::error_code EC = sys::fs::createUniqueDirectory("restride", Root))
    return createStringError(EC, "cannot make a temporary folder: " + EC.message());
  return TemporaryTree(Root.str().str());
}

TemporaryTree::~TemporaryTree() {
  if (Root.empty())
    return;
  // Nothing better can be done about a folder that does not go away.
  (void)sys::fs::remove_directories(Root);
  for (const auto &[Place, Real] : Files)
    sys::DontRemoveFileOnSignal(Place);
}

std::string TemporaryTree::at(StringRef Path) const {
  SmallString<256> Plain(Path);
  sys::path::remove_dots(Plain, /*remove_dot_dot=*/true);
  return Root + Plain.str().str();
}

std::string TemporaryTree::withoutRoot(std::string Text) const {
  for (size_t At = Text.find(Root); At != std::string::npos; At = Text.find(Root, At))
    Text.erase(At, Root.size());
  return Text;
}

static Error cannotWrite(StringRef Place, std::error_code EC) {
  return createStringError(EC, "cannot write '" + Place + "': " + EC.message());
}

Error TemporaryTree::add(StringRef Path, StringRef RealPath, StringRef Text) {
  // On the way to "a/../b" there must be an a.
  SmallString<256> Folder;
  for (StringRef Part : make_range(sys::path::begin(sys::path::parent_path(Path)), sys::path::end(sys::path::parent_path(Path)))) {
    sys::path::append(Folder, Part);
    if (std::error_code EC = sys::fs::create_directories(at(Folder)))
      return cannotWrite(at(Folder), EC);
  }
  std::string Place = at(Path);
  auto First = find_if(Files, [&](const auto &Entry) { return Entry.second == RealPath; });
  auto [Taken, IsNew] = Files.try_emplace(Place, RealPath);
  if (!IsNew && Taken->second != RealPath)
    return createStringError("'" + RealPath + "' and '" + Taken->second + "' have one name, through links between folders");
  if (!IsNew)
    return Error::success();
  sys::RemoveFileOnSignal(Place);
  if (First != Files.end()) {
    std::error_code EC = sys::fs::create_link(First->first, Place);
    return EC ? cannotWrite(Place, EC) : Error::success();
  }
  std::error_code EC;
  raw_fd_ostream Out(Place, EC);
  if (EC)
    return cannotWrite(Place, EC);
  Out << Text;
  Out.close();
  EC = Out.error();
  Out.clear_error();
  // With `#pragma once` GCC takes files of one time, size and text for one file.
  if (!EC)
    std::filesystem::last_write_time(Place, std::filesystem::file_time_type::clock::now() - std::chrono::hours(Files.size()), EC);
  return EC ? cannotWrite(Place, EC) : Error::success();
}

} // namespace restride::ptx
