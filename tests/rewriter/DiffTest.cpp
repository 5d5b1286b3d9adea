#include "rewriter/Diff.h"

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

TEST(Diff, isPlainWhereThereIsNoTerminal) {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  printDiff("--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n", OS);
  EXPECT_EQ(Text, "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n");
}

} // namespace
} // namespace restride
