#include "analysis/cost/SectorCache.h"

#include "gtest/gtest.h"

using namespace restride::cost;

namespace {

TEST(SectorCache, SectorsOfALineAreFetchedOneByOne) {
  SectorCache C(8, 4);
  EXPECT_FALSE(C.touch(0));
  EXPECT_FALSE(C.touch(1));
  EXPECT_TRUE(C.touch(0));
  EXPECT_TRUE(C.touch(1));
}

TEST(SectorCache, WhatFitsStays) {
  SectorCache C(64, 4);
  for (uint64_t S = 0; S < 256; ++S)
    EXPECT_FALSE(C.touch(S));
  for (uint64_t S = 0; S < 256; ++S)
    EXPECT_TRUE(C.touch(S));
}

TEST(SectorCache, WhatDoesNotFitIsPartlyLost) {
  SectorCache C(64, 1);
  auto pass = [&] {
    unsigned Hits = 0;
    for (uint64_t S = 0; S < 128; ++S)
      Hits += C.touch(S);
    return Hits;
  };
  EXPECT_EQ(pass(), 0u);
  pass();
  unsigned Hits = pass(); // exact LRU would keep nothing, a perfect cache 64
  EXPECT_LT(Hits, 64u);
}

TEST(SectorCache, WhatIsWrittenStaysDirtyUntilItLeaves) {
  SectorCache C(1, 4);
  C.touch(0);
  EXPECT_FALSE(C.write(0)); // there, but clean
  EXPECT_TRUE(C.write(0));
  EXPECT_FALSE(C.write(1)); // each sector of its own
  EXPECT_TRUE(C.touch(1));
  C.touch(4); // takes the only line
  EXPECT_FALSE(C.write(0));
}

TEST(SectorCache, NoLinesNeverHit) {
  SectorCache C(0, 4);
  EXPECT_FALSE(C.write(7));
  EXPECT_FALSE(C.touch(7));
  EXPECT_FALSE(C.touch(7));
}

} // namespace
