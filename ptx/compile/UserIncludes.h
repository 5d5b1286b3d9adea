// Which #include lines name headers of the user's. Those are the ones that a
// variant may change; all others can be read before there is a variant.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace clang {
class CompilerInvocation;
} // namespace clang

namespace restride::ptx {

struct IncludedFile {
  enum { System, User, Unknown } What = System; ///< Unknown: #include MACRO
  std::string Path;                             ///< of a user's file
};

/// The folders in which Clang looks for the user's headers, in its order.
class UserFolders {
public:
  explicit UserFolders(const clang::CompilerInvocation &Invocation);
  /// What \p Name, with its quotes or angle brackets, means in a file in \p Folder.
  IncludedFile find(llvm::StringRef Name, llvm::StringRef Folder) const;

private:
  std::optional<std::string> findIn(llvm::ArrayRef<std::string> Folders, llvm::StringRef Name) const;

  std::vector<std::string> Quoted, Angled;
};

/// Offset of the '#' of the first #include in \p Text, the contents of \p
/// MainFile, that may name a user's header; npos where none does.
size_t firstUserInclude(llvm::StringRef Text, llvm::StringRef MainFile, const UserFolders &Folders);

} // namespace restride::ptx
