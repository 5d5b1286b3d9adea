// Files for a program that we run, in folders like the user's, so that the
// relative names by which they include each other still lead to the right ones.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>

namespace restride::ptx {

/// Gone with its owner; the files in it also when the process is interrupted.
class TemporaryTree {
public:
  static llvm::Expected<TemporaryTree> create();
  TemporaryTree(TemporaryTree &&Other) : Root(std::move(Other.Root)), Files(std::move(Other.Files)) { Other.Root.clear(); }
  TemporaryTree &operator=(TemporaryTree &&) = delete;
  ~TemporaryTree();

  const std::string &root() const { return Root; }
  /// \p Text, with the user's names for the files that it mentions.
  std::string withoutRoot(std::string Text) const;
  /// Where \p Path (absolute) is in the tree.
  std::string at(llvm::StringRef Path) const;
  /// Writes \p Text to the place of \p Path, a name of the file \p RealPath. What
  /// has two names is one file and a link here too: "#pragma once" goes by that.
  llvm::Error add(llvm::StringRef Path, llvm::StringRef RealPath, llvm::StringRef Text);

private:
  explicit TemporaryTree(std::string Root) : Root(std::move(Root)) {}

  std::string Root;
  std::map<std::string, std::string> Files; ///< from the place to the real path
};

} // namespace restride::ptx
