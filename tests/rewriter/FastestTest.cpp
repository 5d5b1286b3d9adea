// Which of the layouts is taken that are predicted alike.
#include "rewriter/decide/Fastest.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

/// The layout that is taken, of these with their cycles; the first is the original.
std::string taken(std::vector<std::pair<std::string, double>> Cycles) {
  std::vector<Trial> Trials;
  std::vector<cost::Score> Scores;
  for (const auto &[Name, Each] : Cycles) {
    Trial T;
    for (const Layout *L : catalogue())
      if (L->name() == Name)
        T.L = L;
    Trials.push_back(T);
    cost::Score S;
    S.Cycles = Each;
    Scores.push_back(S);
  }
  std::vector<const Trial *> All;
  for (const Trial &T : Trials)
    All.push_back(&T);
  return Trials[fastest(All, Scores, 1.02, cost::Model::Throughput).Winner].L->name().str();
}

TEST(Fastest, OfTilesThatAreAlikeTheLargest) {
  EXPECT_EQ(taken({{"aos", 2000}, {"asta16", 1200}, {"asta32", 1000}, {"asta128", 1001}}), "asta128");
  EXPECT_EQ(taken({{"aos", 2000}, {"asta32", 1000}, {"asta128", 1004}}), "asta32");
}

TEST(Fastest, ArraysBeforeTilesThatAreAlike) {
  EXPECT_EQ(taken({{"aos", 2000}, {"soa", 1001}, {"asta32", 1000}, {"asta128", 1000}}), "soa");
  EXPECT_EQ(taken({{"aos", 2000}, {"soa", 1004}, {"asta32", 1000}}), "asta32");
  EXPECT_EQ(taken({{"aos", 2000}, {"soa", 1000}, {"asta128", 1000}}), "soa");
}

TEST(Fastest, TheOriginalUnlessSomethingIsGained) {
  EXPECT_EQ(taken({{"aos", 1000}, {"soa", 995}, {"asta32", 990}}), "aos");
}

} // namespace
} // namespace restride
