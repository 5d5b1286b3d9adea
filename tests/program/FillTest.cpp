// Formulas of what the host writes, and where they apply.

#include "analysis/program/Fill.h"

#include <gtest/gtest.h>

using namespace restride;
using Op = FillNode::Op;

static FillNode constant(int64_t V) { return {Op::Constant, 64, true, V}; }
static FillNode counter(int64_t Loop) { return {Op::Counter, 64, true, Loop}; }
static FillNode unknown(uint8_t Bits, bool Signed) { return {Op::Unknown, Bits, Signed}; }
static FillNode of(Op What, uint32_t A, uint32_t B, uint8_t Bits = 64, bool Signed = true) { return {What, Bits, Signed, 0, A, B, 0}; }

/// `for k < 4: for i < 100: list[k * 100 + i] = nodes`, of 4 bytes each.
static Fill columns(std::vector<FillNode> Nodes) {
  Fill F;
  F.Loops = {{0, 1, 4, 400}, {0, 1, 100, 4}};
  F.Nodes = std::move(Nodes);
  return F;
}

TEST(Fill, findsTheTripsThatWriteAPlace) {
  Fill F = columns({constant(0)});
  F.Begin = 8;
  EXPECT_EQ(F.tripsAt(8 + 2 * 400 + 37 * 4), (std::vector<uint64_t>{2, 37}));
  EXPECT_FALSE(F.tripsAt(4)) << "before the first";
  EXPECT_FALSE(F.tripsAt(8 + 4 * 400)) << "behind the last";
  EXPECT_FALSE(F.tripsAt(8 + 2)) << "inside of an integer";
  F.Loops.push_back({0, 1, 10, 0});
  EXPECT_EQ(F.tripsAt(8), (std::vector<uint64_t>{0, 0, 9})) << "the last trip that writes it";
}

TEST(Fill, computesInTheTypesOfTheSource) {
  Fill F = columns({counter(1), constant(3), of(Op::Mul, 0, 1), constant(50), of(Op::Rem, 2, 3)});
  EXPECT_EQ(F.value({0, 40}), 20);
  F.Loops[1] = {99, -1, 100, 4};
  EXPECT_EQ(F.value({0, 40}), (99 - 40) * 3 % 50) << "counts down";
  F.Nodes = {constant(200), {Op::Convert, 8, true, 0, 0, 0, 0}};
  EXPECT_EQ(F.value({0, 0}), -56);
  F.Nodes = {constant(-1), {Op::Convert, 32, false, 0, 0, 0, 0}};
  EXPECT_EQ(F.value({0, 0}), 0xffffffff);
  F.Nodes = {constant(5), constant(0), of(Op::Div, 0, 1), of(Op::Rem, 2, 1)};
  EXPECT_EQ(F.value({0, 0}), 0) << "no crash";
}

TEST(Fill, takesTheFirstBitOfUnsignedNumbersForNoSign) {
  const FillNode Big = {Op::Constant, 64, false, -8}; // 2^64 - 8
  Fill F = columns({Big, constant(1000), of(Op::Rem, 0, 1, 64, false)});
  EXPECT_EQ(F.value({0, 0}), int64_t(-8ull % 1000));
  F.Nodes[2].What = Op::Div;
  EXPECT_EQ(F.value({0, 0}), int64_t(-8ull / 1000));
  F.Nodes[2].What = Op::Shr;
  F.Nodes[1].Value = 40;
  EXPECT_EQ(F.value({0, 0}), (1 << 24) - 1);
  F.Nodes = {Big, {Op::Constant, 64, false, 5}, of(Op::Less, 0, 1)};
  EXPECT_EQ(F.value({0, 0}), 0);
}

TEST(Fill, drawsWhatIsUnknownOncePerPlace) {
  Fill F = columns({unknown(32, true), constant(8), of(Op::Rem, 0, 1)});
  std::set<int64_t> Seen;
  for (uint64_t I = 0; I < 100; ++I) {
    EXPECT_EQ(F.value({1, I}), F.value({1, I}));
    Seen.insert(F.value({1, I}));
  }
  EXPECT_EQ(Seen.size(), 8u);
  EXPECT_EQ(*Seen.begin(), 0) << "no negative ones";
}

TEST(Fill, knowsWhatBoundsTheUnknown) {
  EXPECT_TRUE(isUnbounded({unknown(32, true)}));
  EXPECT_FALSE(isUnbounded({unknown(32, true), constant(8), of(Op::Rem, 0, 1)}));
  EXPECT_TRUE(isUnbounded({constant(8), unknown(32, true), of(Op::Rem, 0, 1)}));
  EXPECT_FALSE(isUnbounded({unknown(32, false), constant(24), of(Op::Shr, 0, 1, 32, false)}));
  EXPECT_FALSE(isUnbounded({unknown(32, false), constant(255), of(Op::And, 0, 1)}));
  EXPECT_TRUE(isUnbounded({unknown(32, false), counter(0), of(Op::Add, 0, 1)}));
  EXPECT_FALSE(isUnbounded({unknown(32, true), counter(0), of(Op::Less, 0, 1)}));
}

TEST(Fill, isScatteredWhereNeighboursLeadFarApart) {
  EXPECT_FALSE(isScattered(columns({counter(1)})));
  EXPECT_FALSE(isScattered(columns({constant(7)})));
  EXPECT_FALSE(isScattered(columns({unknown(32, true), constant(64), of(Op::Rem, 0, 1), counter(1), of(Op::Add, 2, 3)})));
  EXPECT_TRUE(isScattered(columns({unknown(32, true), constant(1 << 20), of(Op::Rem, 0, 1)})));
  EXPECT_TRUE(isScattered(columns({counter(1), constant(7919), of(Op::Mul, 0, 1)})));
  EXPECT_TRUE(isScattered(columns({unknown(32, true), constant(1 << 10), of(Op::Rem, 0, 1)}))) << "of few";
}

TEST(Fill, isNotScatteredWhereRowsLieNear) {
  // A grid of 300 by 30 cells with 27 neighbours each, 9000 apart.
  Fill F;
  F.Loops = {{0, 1, 300, 30 * 27 * 4}, {0, 1, 30, 27 * 4}, {0, 1, 27, 4}};
  F.Nodes = {counter(0), constant(30), of(Op::Mul, 0, 1), counter(1), of(Op::Add, 2, 3), counter(2), constant(9000), of(Op::Mul, 5, 6), of(Op::Add, 4, 7)};
  EXPECT_FALSE(isScattered(F));
}
