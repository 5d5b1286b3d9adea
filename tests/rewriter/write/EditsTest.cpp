#include "rewriter/write/Edits.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

std::string apply(llvm::StringRef Source, std::vector<Edit> Edits) {
  Sources Text;
  Text.add("/a.cu", Source);
  llvm::Expected<Rewritten> Out = applyEdits(Text, std::move(Edits));
  return Out ? Out->Text : "error: " + llvm::toString(Out.takeError());
}

TEST(Edits, none) {
  EXPECT_EQ(apply("abc", {}), "abc");
  EXPECT_EQ(apply("", {}), "");
}

TEST(Edits, replaceInsertAndDrop) {
  EXPECT_EQ(apply("abcdef", {{{1, 2}, {"X"}}, {{3, 3}, {"+"}}, {{4, 6}, {}}}), "aXc+d");
  EXPECT_EQ(apply("abc", {{{0, 0}, {"<"}}, {{3, 3}, {">"}}}), "<abc>");
}

TEST(Edits, comeInAnyOrder) { EXPECT_EQ(apply("abc", {{{2, 3}, {"Z"}}, {{0, 1}, {"X"}}}), "XbZ"); }

// p[q[i].n].x with both accesses turned around.
TEST(Edits, nest) {
  llvm::StringRef Source = "p[q[i].n].x";
  Edit Outer{{0, 11}, {Range{0, 1}, ".x[", Range{2, 8}, "]"}};
  Edit Inner{{2, 8}, {Range{2, 3}, ".n[", Range{4, 5}, "]"}};
  EXPECT_EQ(apply(Source, {Outer, Inner}), "p.x[q.n[i]]");
  EXPECT_EQ(apply(Source, {Inner, Outer}), "p.x[q.n[i]]");
}

TEST(Edits, nestInAPieceThatIsUsedTwice) {
  Edit Outer{{0, 7}, {"p[", Range{2, 3}, " / 8].x[", Range{2, 3}, " % 8]"}};
  EXPECT_EQ(apply("p[i ].x", {Outer, {{2, 3}, {"k"}}}), "p[k / 8].x[k % 8]");
}

TEST(Edits, ofOneRangeMayNest) {
  // The outer edit keeps its whole range as a piece.
  EXPECT_EQ(apply("p", {{{0, 1}, {Range{0, 1}, ".x"}}}), "p.x");
}

TEST(Edits, equalOnesAreOne) { EXPECT_EQ(apply("abc", {{{1, 2}, {"X"}}, {{1, 2}, {"X"}}}), "aXc"); }

TEST(Edits, touching) { EXPECT_EQ(apply("abc", {{{0, 1}, {"X"}}, {{1, 2}, {"Y"}}}), "XYc"); }

TEST(Edits, insertionsBeforeAnEditStandOutsideOfIt) {
  EXPECT_EQ(apply("ab", {{{0, 1}, {Range{0, 1}, "!"}}, {{0, 0}, {"+"}}}), "+a!b");
  EXPECT_EQ(apply("ab", {{{0, 1}, {"(", Range{0, 1}, ")"}}, {{1, 1}, {"+"}}}), "(a)+b");
}

TEST(Edits, failWhereTheyOverlap) {
  EXPECT_EQ(apply("abcd", {{{0, 2}, {"X"}}, {{1, 3}, {"Y"}}}), "error: two edits overlap at byte 1");
}

TEST(Edits, failInDroppedText) {
  EXPECT_EQ(apply("abcd", {{{0, 4}, {"X"}}, {{1, 2}, {"Y"}}}),
            "error: an edit at byte 1 lies in text that another edit drops");
  EXPECT_EQ(apply("abcd", {{{1, 2}, {"X"}}, {{1, 2}, {"Y"}}}),
            "error: an edit at byte 1 lies in text that another edit drops");
}

TEST(Edits, endLinesAsTheFileDoes) {
  EXPECT_EQ(apply("a\r\nb\r\n", {{{3, 3}, {"x\ny\n"}}}), "a\r\nx\r\ny\r\nb\r\n");
  EXPECT_EQ(apply("a\nb\n", {{{2, 2}, {"x\n"}}}), "a\nx\nb\n");
}

TEST(Edits, rememberWhereTextComesFrom) {
  // "abcdef" -> "ab<new>d..ef"
  Sources Text;
  Text.add("/a.cu", "abcdef");
  llvm::Expected<Rewritten> Out = applyEdits(Text, {{{2, 4}, {"<new>", Range{3, 4}, ".."}}});
  ASSERT_TRUE(bool(Out));
  ASSERT_EQ(Out->Text, "ab<new>d..ef");
  EXPECT_EQ(Out->original(0), 0u);
  EXPECT_EQ(Out->original(1), 1u);
  EXPECT_EQ(Out->original(4), 2u) << "generated text maps to the end of what is before it";
  EXPECT_EQ(Out->original(7), 3u);
  EXPECT_EQ(Out->original(10), 4u);
  EXPECT_EQ(Out->original(11), 5u);
}

} // namespace
} // namespace restride
