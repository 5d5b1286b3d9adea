// A file for a program that we run. It is gone with its owner, and with the
// process when that is interrupted.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace restride {

class TemporaryFile {
public:
  /// \p Suffix is without its dot.
  static llvm::Expected<TemporaryFile> create(llvm::StringRef Suffix, llvm::StringRef Text = "");
  TemporaryFile(TemporaryFile &&Other) : Path(std::move(Other.Path)) { Other.Path.clear(); }
  TemporaryFile &operator=(TemporaryFile &&) = delete;
  ~TemporaryFile();

  llvm::StringRef path() const { return Path; }
  llvm::Expected<std::string> read() const;

private:
  explicit TemporaryFile(std::string Path) : Path(std::move(Path)) {}
  std::string Path;
};

} // namespace restride
