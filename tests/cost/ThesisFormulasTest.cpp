// Hand-computed from the thesis's equations with the GTX 980's constants.
#include "analysis/cost/ThesisModel.h"

#include "gtest/gtest.h"

using namespace restride::cost;

namespace {

Gpu gtx980() {
  llvm::Expected<Gpu> G = loadGpu("gtx980");
  if (!G) {
    ADD_FAILURE() << llvm::toString(G.takeError());
    return {};
  }
  return *G;
}

TEST(Thesis, Transactions) {
  EXPECT_EQ(thesisTransactions(0), 1u); // broadcast
  EXPECT_EQ(thesisTransactions(4), 1u); // complete coalescing
  EXPECT_EQ(thesisTransactions(8), 2u);
  EXPECT_EQ(thesisTransactions(12), 3u);
  EXPECT_EQ(thesisTransactions(16), 4u);
  EXPECT_EQ(thesisTransactions(128), 32u); // none
  EXPECT_EQ(thesisTransactions(1 << 20), 32u);
}

TEST(Thesis, HitRates) {
  EXPECT_DOUBLE_EQ(thesisVariantHit(4), 31 / 32.0); // equation (3) for 4-byte elements
  EXPECT_DOUBLE_EQ(thesisVariantHit(16), 7 / 8.0);
  EXPECT_DOUBLE_EQ(thesisVariantHit(32768), 0);
  EXPECT_DOUBLE_EQ(thesisInvariantHit(8), 7 / 8.0);
  EXPECT_DOUBLE_EQ(thesisInvariantHit(0), 0);
}

TEST(Thesis, OneAccess) {
  Gpu G = gtx980();
  EXPECT_DOUBLE_EQ(thesisGroup(ThesisAccess{1, 1}, G), 194);
  EXPECT_DOUBLE_EQ(thesisGroup(ThesisAccess{1, 0}, G), 544);
  EXPECT_DOUBLE_EQ(thesisGroup(ThesisAccess{4, 1}, G), 194 + 3 * 9);
  EXPECT_DOUBLE_EQ(thesisGroup(ThesisAccess{32, 0}, G), 544 + 31 * 12.7);
  EXPECT_DOUBLE_EQ(thesisGroup(ThesisAccess{1, 0.5}, G), (194 + 544) / 2.0);
}

TEST(Thesis, AGroupTelescopes) {
  Gpu G = gtx980();
  // The last latency and a delay per earlier access.
  EXPECT_DOUBLE_EQ(thesisGroup({{1, 1}, {1, 1}, {1, 1}}, G), 194 + 2 * 9);
  EXPECT_DOUBLE_EQ(thesisGroup({{1, 0}, {4, 0}}, G), 544 + 3 * 12.7 + 12.7);
  // Fewer transactions than before give a negative step; the sum stays right.
  EXPECT_DOUBLE_EQ(thesisGroup({{32, 1}, {1, 1}}, G), 194 + 9);
  EXPECT_DOUBLE_EQ(thesisGroup({}, G), 0);
}

TEST(Thesis, AProductsInnerLoop) {
  // 2MM: a[i][k] is a broadcast that moves 4 bytes per trip, b[k][j] is
  // coalesced and moves a row.
  Gpu G = gtx980();
  double Soa = thesisGroup({{1, 31 / 32.0}, {1, 0}}, G);
  EXPECT_NEAR(Soa, 31 / 32.0 * 194 + 544 / 32.0 + 12.7, 1e-9);
  // Both padded into one 8-byte struct: half the hits, twice the transactions.
  double Aos = thesisGroup({{1, 15 / 16.0}, {2, 0}}, G);
  EXPECT_NEAR(Aos, 15 / 16.0 * 194 + 544 / 16.0 + 12.7 + 12.7, 1e-9);
}

} // namespace
