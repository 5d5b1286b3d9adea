#include "rewriter/views/HtmlView.h"

#include "llvm/ADT/StringRef.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

TEST(HtmlView, valuesCannotEndTheirElement) {
  Report R;
  R.Candidates.emplace_back();
  R.Candidates[0].Name = "</script><script>alert(1)</script>";
  R.Sources.push_back({"<!--", "<script> /*DATA*/ /*SCRIPT*/ /*STYLE*/"});
  llvm::Expected<std::string> Page = htmlPage(R);
  ASSERT_TRUE(bool(Page)) << llvm::toString(Page.takeError());
  llvm::StringRef Text = *Page;
  EXPECT_EQ(Text.count("</script>"), 2u) << "the values' and the script's";
  EXPECT_EQ(Text.count("<!--"), 0u);
  EXPECT_TRUE(Text.contains("\\u003c/script>"));
  EXPECT_TRUE(Text.contains("\\u003cscript> /*DATA*/ /*SCRIPT*/ /*STYLE*/")) << "marks are not looked for in values";
}

} // namespace
} // namespace restride
