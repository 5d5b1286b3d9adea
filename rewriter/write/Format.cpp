#include "rewriter/write/Format.h"

#include "clang/Format/Format.h"

namespace restride {

std::string formatFor(llvm::StringRef File, llvm::StringRef Code) {
  llvm::Expected<clang::format::FormatStyle> Style = clang::format::getStyle("file", File, "LLVM", Code);
  if (!Style) {
    llvm::consumeError(Style.takeError()); // a broken .clang-format is not our business
    return Code.str();
  }
  Style->MaxEmptyLinesToKeep = 1;
  // The mark of generated copies is looked for as one line (FieldCopyCode.h).
  Style->CommentPragmas = "^ restride: one field of ";
  clang::tooling::Range All(0, Code.size());
  llvm::Expected<std::string> Formatted =
      clang::tooling::applyAllReplacements(Code, clang::format::reformat(*Style, Code, {All}, File));
  if (!Formatted) {
    llvm::consumeError(Formatted.takeError());
    return Code.str();
  }
  return std::move(*Formatted);
}

} // namespace restride
