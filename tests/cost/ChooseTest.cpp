#include "analysis/cost/Rank.h"

#include "gtest/gtest.h"

using namespace restride::cost;

namespace {

std::vector<Score> scores(std::initializer_list<double> Cycles) {
  std::vector<Score> S;
  for (double C : Cycles) {
    S.emplace_back();
    S.back().Cycles = C;
  }
  return S;
}

TEST(Choose, TheFastestWins) {
  Choice C = choose(scores({100, 50, 70}), 0);
  EXPECT_EQ(C.Winner, 1u);
  EXPECT_DOUBLE_EQ(C.Speedup, 2);
  EXPECT_FALSE(C.Tie);
}

TEST(Choose, ATieKeepsTheOriginal) {
  Choice C = choose(scores({100, 98.5, 99}), 0);
  EXPECT_EQ(C.Winner, 0u);
  EXPECT_TRUE(C.Tie);
  EXPECT_NEAR(C.Speedup, 100 / 98.5, 1e-12);
  EXPECT_EQ(choose(scores({100, 98.5, 99}), 0, 1.01).Winner, 1u);
}

TEST(Choose, ExactlyTheThresholdCounts) { EXPECT_EQ(choose(scores({105, 100}), 0, 1.05).Winner, 1u); }

TEST(Choose, AGainThatLaunchesVaryByIsATie) {
  std::vector<Score> S = scores({100, 80});
  S[0].NoiseCycles = 21;
  EXPECT_EQ(choose(S, 0).Winner, 0u);
  EXPECT_TRUE(choose(S, 0).Tie);
  S[0].NoiseCycles = 20;
  EXPECT_EQ(choose(S, 0).Winner, 1u);
}

TEST(Choose, AmongEqualsTheEarlierWins) {
  EXPECT_EQ(choose(scores({100, 50, 50}), 0).Winner, 1u);
  EXPECT_EQ(choose(scores({100, 50, 49.9}), 0).Winner, 1u);
  EXPECT_EQ(choose(scores({100, 50, 49.8}), 0).Winner, 2u);
}

TEST(Choose, TheOriginalMayStandAnywhere) {
  EXPECT_EQ(choose(scores({50, 100, 80}), 1).Winner, 0u);
  EXPECT_EQ(choose(scores({100, 99, 80}), 2).Winner, 2u);
}

TEST(Choose, ConversionsCountAgainstAVariant) {
  std::vector<Score> S = scores({100, 50});
  S[1].ConversionCycles = 60;
  EXPECT_EQ(choose(S, 0).Winner, 0u);
}

TEST(Choose, NothingToChooseFrom) {
  EXPECT_EQ(choose({}, 0).Winner, 0u);
  EXPECT_TRUE(choose(scores({0, 0}), 0).Tie);
}

TEST(Conversion, MovesEachByteTwice) {
  Gpu G;
  G.Sms = 100;
  G.DramBytesPerCycle = 10;
  G.LaunchCycles = 50;
  EXPECT_DOUBLE_EQ(conversionCycles({}, G), 0);
  EXPECT_DOUBLE_EQ(conversionCycles(Conversion{1e6, 1}, G), 2000 + 50);
  EXPECT_DOUBLE_EQ(conversionCycles({{1e6, 3}, {5e5, 1}}, G), 3 * 2050 + 1050);
}

TEST(Rank, AKernelWithoutCodeIsAnError) {
  restride::ptx::Module M;
  KernelLaunch L;
  L.Function = "_Z4stepv";
  llvm::Expected<Score> S = score(M, L, {}, Gpu(), Model::Throughput);
  ASSERT_FALSE(bool(S));
  EXPECT_EQ(llvm::toString(S.takeError()), "kernel '_Z4stepv' has no code in the compiled PTX");
}

} // namespace
