#include "rewriter/views/Diff.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

std::string diff(const Report::Change &Change) {
  llvm::Expected<std::string> Text = unifiedDiff(Change);
  return Text ? *Text : "error: " + llvm::toString(Text.takeError());
}

TEST(Diff, isUnified) {
  EXPECT_EQ(diff({"src/sim.cu", "a\nb\nc\n", "a\nB\nc\n"}),
            "--- a/src/sim.cu\n+++ b/src/sim.cu\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
  EXPECT_EQ(diff({"/x/sim.cu", "a", "b"}), "--- a/x/sim.cu\n+++ b/x/sim.cu\n@@ -1 +1 @@\n-a\n\\ No newline at end of "
                                           "file\n+b\n\\ No newline at end of file\n");
}

TEST(Diff, ofNothingIsEmpty) { EXPECT_EQ(diff({"sim.cu", "a\n", "a\n"}), ""); }

/// What is left when the hunks are put in is the text after.
std::string applied(const Report::Change &Change) {
  llvm::Expected<std::vector<Hunk>> All = hunks(Change);
  if (!All)
    return "error: " + llvm::toString(All.takeError());
  std::string Text = Change.Before;
  for (size_t I = All->size(); I-- > 0;)
    Text.replace((*All)[I].Offset, (*All)[I].Length, (*All)[I].Text);
  return Text;
}

TEST(Diff, isMadeOfHunks) {
  llvm::Expected<std::vector<Hunk>> All = hunks({"sim.cu", "a\nb\nc\nd\n", "x\na\nB\nC\nd\ne\n"});
  ASSERT_TRUE(bool(All)) << llvm::toString(All.takeError());
  ASSERT_EQ(All->size(), 3u);
  EXPECT_EQ((*All)[1].Offset, 2u);
  EXPECT_EQ((*All)[1].Length, 4u);
  EXPECT_EQ((*All)[1].Text, "B\nC\n");
  const std::vector<std::string> Texts = {"", "a", "a\n", "a\nb", "a\n\nb\n", "\n", "\n\n", "b\na\n", "x\na\nB\nC\nd\ne\n", "a\nb\nc\nd\n", "a\r\nb\r\n"};
  for (const std::string &Before : Texts)
    for (const std::string &After : Texts)
      EXPECT_EQ(applied({"sim.cu", Before, After}), After) << "from '" << Before << "'";
}

TEST(Diff, isPlainWhereThereIsNoTerminal) {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  printDiff("--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n", OS);
  EXPECT_EQ(Text, "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n");
}

} // namespace
} // namespace restride
