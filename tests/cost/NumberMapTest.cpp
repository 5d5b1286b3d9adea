#include "analysis/cost/NumberMap.h"

#include <gtest/gtest.h>

using restride::cost::NumberMap;

TEST(NumberMap, KeepsValuesAndForgetsThemAllAtOnce) {
  NumberMap M;
  EXPECT_FALSE(M.contains(0));
  for (uint64_t N = 0; N < 5000; ++N)
    EXPECT_TRUE(M.insert(N * N, N % 3 == 0));
  EXPECT_FALSE(M.insert(49, true)) << "the value is set anew";
  EXPECT_EQ(M.size(), 5000u);
  EXPECT_TRUE(*M.find(49));
  EXPECT_TRUE(*M.find(81));
  EXPECT_FALSE(*M.find(64));
  EXPECT_EQ(M.find(50), nullptr);
  M.clear();
  EXPECT_EQ(M.size(), 0u);
  EXPECT_TRUE(M.insert(50));
  EXPECT_FALSE(M.contains(49));
}
