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
  Reuse reuse() const { return simulate(f(), sample(f(), Facts), *Runner, G, 8, 1, {}); }
  DramTraffic dram() const { return dramTraffic(f(), *Runner, sample(f(), Facts), reuse(), G, Facts, 0, {}); }

  ptx::Module M;
  ptx::ControlFlow Flow;
  ptx::LaunchFacts Facts;
  std::optional<WarpRunner> Runner;
  Gpu G;
};

TEST(Footprint, LinearWarpsAreAsExecuted) {
  Launched K(kernel({.Stride = 24}, {{0, 1}, {8, 1}}));
  const std::vector<uint64_t> Blocks = {100, 317, 370, 555, 631, 760, 1001, 1024};
  std::vector<WarpFootprint> All = K.Runner->footprints(Blocks, {});
  ASSERT_EQ(All.size(), 64u);
  for (unsigned I = 0; I < All.size(); ++I) {
    SCOPED_TRACE(I);
    uint64_t Block = Blocks[I / 8];
    WarpFootprint Executed = K.Runner->footprint(K.Runner->run(Block, I % 8, {}), Block, I % 8);
    EXPECT_EQ(All[I].Touches, Executed.Touches);
    EXPECT_EQ(All[I].Requests.size(), 3u);
  }
}

TEST(Footprint, GathersAreExecutedEach) {
  Launched K(kernel({.Stride = 16, .Gather = true}, {{0, 4}}));
  std::vector<WarpFootprint> All = K.Runner->footprints({0, 1}, {});
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

/// A kernel of the array %rd1, the thread's number %r1 and the block's %r2.
std::string threads(const std::string &Body) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 k_param_0)\n{\n"
         ".reg .pred %p<3>;\n.reg .f32 %f<20>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n"
         "ld.param.u64 %rd1, [k_param_0];\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n"
         "mad.lo.s32 %r1, %r2, %r3, %r4;\n" + Body + "ret;\n}\n";
}

/// Each thread walks 64 bytes of its own in each of eight arrays.
std::string walks() {
  std::string Body = "mul.wide.s32 %rd2, %r1, 64;\nadd.s64 %rd3, %rd1, %rd2;\nmov.u32 %r5, 0;\nLOOP:\n";
  for (unsigned A = 0; A < 8; ++A)
    Body += "ld.global.f32 %f" + std::to_string(A + 1) + ", [%rd3+" + std::to_string(uint64_t(A) << 32) + "];\n";
  for (unsigned A = 0; A < 8; ++A)
    Body += "add.f32 %f9, %f9, %f" + std::to_string(A + 1) + ";\n";
  return threads(Body + "add.s64 %rd3, %rd3, 4;\nadd.s32 %r5, %r5, 1;\nsetp.lt.s32 %p1, %r5, 16;\n@%p1 bra LOOP;\n"
                        "st.global.f32 [%rd1], %f9;\n");
}

TEST(Reuse, TheOldestWarpsGoOnFirst) {
  // All warps in turn would need 512 KB of L1, and find nothing again.
  Launched K(walks());
  K.G.Schedulers = 1;
  AccessReuse A = loadOf(K, K.reuse(), 0);
  EXPECT_LT(A.MissSectors / A.Requests, 8); // of 32; 4 are new
}

TEST(Reuse, OnlyAFirstWaveTakesBlocksInTurn) {
  // Blocks that are a multiple of 132 apart read the same.
  const std::string Columns = threads("rem.u32 %r5, %r2, 132;\nmad.lo.s32 %r6, %r5, %r3, %r4;\nmul.wide.s32 %rd2, %r6, 4;\n"
                                      "add.s64 %rd3, %rd1, %rd2;\nld.global.f32 %f1, [%rd3];\nst.global.f32 [%rd3], %f1;\n");
  Launched Wave(Columns, 8 * 132 * 256), Many(Columns);
  EXPECT_EQ(loadOf(Wave, Wave.reuse(), 0).MissSectors, 8 * 4);
  EXPECT_GT(loadOf(Many, Many.reuse(), 0).MissSectors, 6 * 8 * 4);
}

TEST(Dram, RandomLinesThatOneFieldOfATileLeavesOutAreNotInL2) {
  // Field 0 of tiles of 16 records of 8 fields: one line of four, 32 MB of 128.
  auto gather = [](unsigned TileShift) {
    std::string Tile = std::to_string(TileShift), Mask = std::to_string((1 << TileShift) - 1), Bytes = std::to_string(32 << TileShift);
    return threads("mul.wide.s32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r5, [%rd3];\nshr.u32 %r6, %r5, " + Tile +
                   ";\nmul.wide.u32 %rd4, %r6, " + Bytes + ";\nand.b32 %r7, %r5, " + Mask + ";\nmul.wide.u32 %rd5, %r7, 4;\n" +
                   "add.s64 %rd6, %rd1, %rd4;\nadd.s64 %rd6, %rd6, %rd5;\nld.global.f32 %f1, [%rd6+1099511627776];\n" +
                   "st.global.f32 [%rd3], %f1;\n");
  };
  constexpr int64_t N = 1 << 22;
  EXPECT_EQ(Launched(gather(4), N).dram().MissShare, 0);
  EXPECT_EQ(Launched(gather(7), N).dram().MissShare, 0); // runs of four lines
  EXPECT_GT(Launched(gather(0), N).dram().MissShare, 0.5); // records: all lines
  EXPECT_GT(Launched(gather(3), N).dram().MissShare, 0.1); // every second one
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
  EXPECT_NEAR(Launched(kernel({.Stride = 64}, {{0, 1}})).dram().ReadBytes, 32 * 64, 0.01);
  EXPECT_NEAR(Launched(kernel({.Stride = 128}, {{0, 1}})).dram().ReadBytes, 32 * 64, 0.01);
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
