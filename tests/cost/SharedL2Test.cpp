#include "analysis/cost/SharedL2.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace restride::cost;

TEST(SharedL2, FetchesOnceWhatFits) {
  EXPECT_DOUBLE_EQ(fetchedByL2({{10, 80}, {20, 20}}, 5, 1, 50), 30);
}

TEST(SharedL2, FetchesStreamsAsTheyAreAsked) {
  EXPECT_DOUBLE_EQ(fetchedByL2({{400, 400}, {100, 50}}, 0, 1, 50), 450);
}

TEST(SharedL2, KeepsWhatIsAskedForOften) {
  // 67 MB pass by, and 31 are asked for 3.6 times: an H200 keeps things for 0.39 of the launch.
  const double Fetched = fetchedByL2({{67, 67}, {31, 3.6 * 31}}, 0, 1, 48);
  EXPECT_NEAR(Fetched, 67 + 31, 1);
}

TEST(SharedL2, FetchesAgainWhatIsTooLarge) {
  // Of an array of ten times L2's size a tenth is there.
  EXPECT_NEAR(fetchedByL2({{480, 4800}}, 0, 1, 48) / 4800, 0.9, 0.001);
}

TEST(SharedL2, FetchesAgainWhatBlocksAskForAfterItIsGone) {
  // A stream of 100 passes through, and L2 keeps each part for half of the launch.
  EXPECT_NEAR(fetchedByL2({{100, 100, 80}}, 0, 0.25, 50), 100, 0.01);
  EXPECT_NEAR(fetchedByL2({{100, 100, 80}}, 0, 1, 50), 140, 0.01);
}
