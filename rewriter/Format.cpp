#include "rewriter/Format.h"

#include "clang/Format/Format.h"

namespace restride {

std::string formatFor(llvm::StringRef File, llvm::StringRef Code) {
  llvm::Expected<clang::format::FormatStyle> Style = clang::format::getStyle("file", File, "LLVM", Code);
  if (!Style) {
    llvm::consumeError(Style.takeError()); // a broken .clang-format is not our business
    return Code.str();
  }
  Style->MaxEmptyLinesToKeep = 1;
  Style->ReflowComments = clang::format::FormatStyle::RCS_Never; // later runs know generated code by them
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
