#include "analysis/program/Sources.h"

#include <gtest/gtest.h>

using namespace restride;

TEST(Sources, keepFilesInOneText) {
  Sources S("/project");
  EXPECT_EQ(S.add("/project/a.cu", "abc").Text, (Range{0, 3}));
  Range B = S.add("/usr/b.h", "def").Text;
  EXPECT_EQ(S.text(B), "def");
  EXPECT_EQ(S.add("/project/a.cu", "changed").Text, (Range{0, 3}));
  EXPECT_EQ(S.files().size(), 2u);
  EXPECT_EQ(S.at(2).Path, "/project/a.cu");
  EXPECT_EQ(S.at(B.Begin).Path, "/usr/b.h");
  EXPECT_TRUE(S.files()[0].Editable);
  EXPECT_FALSE(S.files()[1].Editable);
}

TEST(Sources, ofAProjectAreNotThoseOfItsNeighbour) {
  Sources S("/project");
  EXPECT_FALSE(S.add("/project2/a.cu", "").Editable);
}

TEST(Sources, noLineGoesOverABorder) {
  Sources S;
  S.add("/a.h", "no line break");
  unsigned Begin = S.add("/b.h", "x").Text.Begin;
  EXPECT_EQ(S.text()[Begin - 1], '\n');
}
