#include "rewriter/views/HtmlView.h"

#include "rewriter/views/Diff.h"
#include "rewriter/views/JsonView.h"

#include "llvm/ADT/StringRef.h"

namespace restride {

// The files of html/, which CMake makes strings of.
extern const char HtmlPage[], HtmlStyle[], HtmlScript[];

/// No name of the user's can end the element that the values stand in.
static std::string withoutTags(llvm::StringRef Json) {
  std::string Out;
  for (char C : Json)
    if (C == '<')
      Out += "\\u003c"; // only strings have any
    else
      Out += C;
  return Out;
}

/// \p Text with what stands in the place of \p Mark.
static std::string fill(llvm::StringRef Text, llvm::StringRef Mark, llvm::StringRef With) {
  auto [Before, After] = Text.split(Mark);
  return (Before + With + After).str();
}

llvm::Expected<std::string> htmlPage(const Report &R) {
  std::vector<std::string> Diffs;
  for (const Report::Change &Change : R.Changes) {
    llvm::Expected<std::string> Diff = unifiedDiff(Change);
    if (!Diff)
      return Diff.takeError();
    Diffs.push_back(std::move(*Diff));
  }
  std::string Json;
  llvm::raw_string_ostream OS(Json);
  printJsonForPage(R, Diffs, OS);
  // The values last: they may have anything in them.
  std::string Page = fill(HtmlPage, "/*STYLE*/", HtmlStyle);
  Page = fill(Page, "/*SCRIPT*/", HtmlScript);
  return fill(Page, "/*DATA*/", withoutTags(Json));
}

} // namespace restride
