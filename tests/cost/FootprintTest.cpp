// Sectors of many warps, and where their loads hit.
#include "PtxKernels.h"
#include "analysis/cost/DramTraffic.h"
#include "analysis/cost/Reuse.h"

#include "gtest/gtest.h"

using namespace restride;
using namespace restride::cost;
using namespace restride::cost::test;

namespace {

/// A kernel, its launch over N elements and a runner of its warps.
struct Launched {
  explicit Launched(const std::string &Text, int64_t N = 1 << 25) {
    llvm::Expected<ptx::Module> P = ptx::parse(Text);
    if (!P) {
      ADD_FAILURE() << llvm::toString(P.takeError());
      return;
    }
    M = std::move(*P);
    Flow = ptx::controlFlow(f());
    Facts.Grid = {uint32_t(N / 256), 1, 1};
    Facts.Block = {256, 1, 1};
    Facts.Arguments = {std::nullopt, std::nullopt, std::nullopt, N};
    Facts.Elements = N;
    Runner.emplace(f(), Flow, Facts);
    llvm::Expected<Gpu> Profile = loadGpu("h200");
    if (!Profile) {
      ADD_FAILURE() << llvm::toString(Profile.takeError());
      return;
    }
    G = *Profile;
  }
  const ptx::Function &f() const { return M.Functions[0]; }
  Reuse reuse() const { return simulate(f(), Flow, *Runner, G, 8, 1, {}); }
  DramTraffic dram() const { return dramTraffic(f(), *Runner, sample(f(), Facts), reuse(), G, Facts, 0, {}); }

  ptx::Module M;
  ptx::ControlFlow Flow;
  ptx::LaunchFacts Facts;
  std::optional<WarpRunner> Runner;
  Gpu G;
};

TEST(Footprint, LinearWarpsAreAsExecuted) {
  Launched K(kernel({.Stride = 24}, {{0, 1}, {8, 1}}));
  std::vector<WarpFootprint> All = K.Runner->footprints(100, 132, 8, {});
  ASSERT_EQ(All.size(), 64u);
  for (unsigned I = 0; I < All.size(); ++I) {
    SCOPED_TRACE(I);
    uint64_t Block = 100 + 132 * (I / 8);
    WarpFootprint Executed = K.Runner->footprint(K.Runner->run(Block, I % 8, {}), Block, I % 8);
    EXPECT_EQ(All[I].Touches, Executed.Touches);
    EXPECT_EQ(All[I].Requests.size(), 3u);
  }
}

TEST(Footprint, GathersAreExecutedEach) {
  Launched K(kernel({.Stride = 16, .Gather = true}, {{0, 4}}));
  std::vector<WarpFootprint> All = K.Runner->footprints(0, 1, 2, {});
  ASSERT_EQ(All.size(), 16u);
  ASSERT_EQ(All[0].Requests.size(), 3u);
  EXPECT_FALSE(All[0].Requests[0].Random);
  EXPECT_TRUE(All[0].Requests[1].Random);
  EXPECT_NE(All[0].Touches, All[1].Touches);
}

/// Requests, L1 hits and sectors missed by the loads with index \p Which.
AccessReuse loadOf(const Launched &K, const Reuse &R, unsigned Which) {
  for (unsigned I = 0; I < K.f().Body.size(); ++I)
    if (K.f().Body[I].isLoad() && Which-- == 0)
      return R.PerInstruction[I];
  ADD_FAILURE() << "no such load";
  return {};
}

TEST(Reuse, AStreamMissesEverySectorOnce) {
  Launched K(kernel({.Stride = 4}, {{0, 1}}));
  AccessReuse A = loadOf(K, K.reuse(), 0);
  EXPECT_EQ(A.Requests, 64);
  EXPECT_EQ(A.MissSectors, 4 * 64);
  EXPECT_EQ(A.HitL1, 0);
}

TEST(Reuse, NeighbouringFieldsHitTheSameSectors) {
  Launched K(kernel({.Stride = 32}, {{0, 1}, {4, 1}}));
  Reuse R = K.reuse();
  EXPECT_EQ(loadOf(K, R, 0).MissSectors, 32 * 64);
  EXPECT_EQ(loadOf(K, R, 1).MissSectors, 0);
  EXPECT_EQ(loadOf(K, R, 1).HitL1, 64);
}

TEST(Reuse, AUniformLoopHits) {
  Launched K(kernel({.Stride = 4, .Uniform = 1024}, {{0, 1}}), 1 << 18);
  AccessReuse A = loadOf(K, K.reuse(), 0);
  EXPECT_GT(A.HitL1 / A.Requests, 0.95);
}

TEST(Reuse, NothingHitsWithoutL1) {
  Launched K(kernel({.Stride = 32}, {{0, 1}, {4, 1}}));
  K.G.L1Bytes = 0;
  EXPECT_EQ(loadOf(K, K.reuse(), 1).MissSectors, 32 * 64);
}

TEST(Dram, AStreamMovesItsBytes) {
  DramTraffic D = Launched(kernel({.Stride = 4}, {{0, 1}})).dram();
  EXPECT_DOUBLE_EQ(D.ReadBytes, 128);
  EXPECT_DOUBLE_EQ(D.WriteBytes, 128);
  EXPECT_FALSE(D.Resident);
  EXPECT_EQ(D.LoadGranules, 0);
}

TEST(Dram, AFieldOfARecordFetchesItsGranules) {
  EXPECT_DOUBLE_EQ(Launched(kernel({.Stride = 64}, {{0, 1}})).dram().ReadBytes, 32 * 64);
  EXPECT_DOUBLE_EQ(Launched(kernel({.Stride = 128}, {{0, 1}})).dram().ReadBytes, 32 * 64);
}

TEST(Dram, ASmallArrayIsReadOnce) {
  DramTraffic D = Launched(kernel({.Stride = 16, .Uniform = 1024}, {{0, 4}}), 1 << 18).dram();
  EXPECT_TRUE(D.Resident);
  EXPECT_LT(D.ReadBytes, 16) << "16 KB among all warps";
}

TEST(Dram, GathersFetchAGranulePerLane) {
  Launched Gather(kernel({.Stride = 4, .Gather = true}, {{0, 1}}));
  DramTraffic D = Gather.dram();
  EXPECT_NEAR(D.LoadGranules, 32, 0.5);
  EXPECT_NEAR(D.LoadSectors, 32, 0.5);
  EXPECT_NEAR(D.MissShare, 1 - Gather.G.L2RandomBytes / (128 << 20), 0.02);
  EXPECT_DOUBLE_EQ(D.ReadBytes, 128) << "the indices themselves";
}

TEST(Dram, AGatherFromASmallTableStaysInL2) {
  Launched K(kernel({.Stride = 4, .Gather = true}, {{0, 1}}));
  K.Facts.Elements = 1 << 20;
  EXPECT_EQ(K.dram().MissShare, 0);
}

} // namespace
