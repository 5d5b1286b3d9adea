#include "rewriter/Edits.h"

#include <gtest/gtest.h>

using namespace restride;

static std::string apply(llvm::StringRef Source, std::vector<Edit> Edits) {
  llvm::Expected<Rewritten> R = applyEdits(Source, std::move(Edits));
  return R ? R->Text : "error: " + llvm::toString(R.takeError());
}

TEST(Edits, replaceAndInsert) {
  EXPECT_EQ(apply("abc", {{{1, 2}, {"X"}}}), "aXc");
  EXPECT_EQ(apply("abc", {{{3, 3}, {"!"}}, {{0, 0}, {"?"}}}), "?abc!");
  EXPECT_EQ(apply("abc", {}), "abc");
}

TEST(Edits, nest) {
  // p[q[i].k].x, outside and inside
  std::string Source = "p[q[i].k].x";
  Edit Outer{{0, 11}, {Range{0, 1}, ".x[", Range{2, 8}, "]"}};
  Edit Inner{{2, 8}, {Range{2, 3}, ".k[", Range{4, 5}, "]"}};
  EXPECT_EQ(apply(Source, {Outer, Inner}), "p.x[q.k[i]]");
  EXPECT_EQ(apply(Source, {Inner, Outer}), "p.x[q.k[i]]");
}

TEST(Edits, mayRepeatAPart) {
  EXPECT_EQ(apply("p[i].x", {{{0, 6}, {Range{0, 1}, "[", Range{2, 3}, " >> 5].x[", Range{2, 3}, " & 31]"}}}), "p[i >> 5].x[i & 31]");
}

TEST(Edits, keepOneOfTwoThatAreTheSame) { EXPECT_EQ(apply("abc", {{{1, 2}, {"X"}}, {{1, 2}, {"X"}}}), "aXc"); }

TEST(Edits, failWhereTheyOverlap) {
  EXPECT_EQ(apply("abcdef", {{{0, 3}, {"X"}}, {{2, 5}, {"Y"}}}), "error: two edits overlap at byte 2");
}

TEST(Edits, failWhereOneDropsAnother) {
  EXPECT_EQ(apply("abcdef", {{{0, 5}, {"X"}}, {{2, 3}, {"Y"}}}), "error: an edit at byte 2 lies in text that another edit drops");
}

TEST(Edits, knowWhereTextComesFrom) {
  llvm::Expected<Rewritten> R = applyEdits("abcdef", {{{2, 4}, {"12345"}}});
  ASSERT_TRUE(bool(R));
  EXPECT_EQ(R->Text, "ab12345ef");
  EXPECT_EQ(R->original(1), 1u);
  EXPECT_EQ(R->original(4), 2u); // generated: what stands before it
  EXPECT_EQ(R->original(7), 4u);
  EXPECT_EQ(R->original(8), 5u);
}
