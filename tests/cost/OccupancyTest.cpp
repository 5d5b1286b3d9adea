#include "analysis/cost/Occupancy.h"

#include "gtest/gtest.h"

using namespace restride;
using namespace restride::cost;

namespace {

Gpu gpu(const char *Name) {
  llvm::Expected<Gpu> G = loadGpu(Name);
  if (!G) {
    ADD_FAILURE() << llvm::toString(G.takeError());
    return {};
  }
  return *G;
}

struct Case {
  unsigned Registers;
  uint64_t Shared;
  unsigned Threads;
  unsigned Blocks;
  const char *By;
};

TEST(Occupancy, KnownCasesOnHopper) {
  Gpu G = gpu("h200");
  const Case Cases[] = {
      // as cudaOccupancyMaxActiveBlocksPerMultiprocessor says
      {32, 0, 256, 8, "warps"},
      {64, 0, 256, 4, "registers"},
      {65, 0, 256, 3, "registers"}, // rounded up to 72
      {255, 0, 256, 1, "registers"},
      {16, 0, 32, 32, "blocks"},
      {32, 0, 1024, 2, "warps"},
      {40, 0, 1024, 1, "registers"},
      {32, 48 * 1024, 128, 4, "shared memory"},
      {32, 227 * 1024, 128, 1, "shared memory"},
      {32, 0, 96, 21, "warps"},
  };
  for (const Case &C : Cases) {
    SCOPED_TRACE(testing::Message() << C.Registers << " registers, " << C.Shared << " bytes, " << C.Threads);
    Occupancy O = occupancy({C.Registers, C.Shared, C.Threads}, G);
    EXPECT_EQ(O.ResidentBlocks, C.Blocks);
    EXPECT_EQ(O.LimitedBy, C.By);
  }
}

TEST(Occupancy, ABlockThatFitsNowhereStillRunsInTheModel) {
  EXPECT_EQ(occupancy({255, 0, 1024}, gpu("h200")).ResidentBlocks, 1u);
}

TEST(Occupancy, WavesOfASmallGridAreCounted) {
  Gpu G = gpu("h200");
  Occupancy O = occupancy({64, 0, 256}, G); // 4 blocks
  std::vector<Wave> W = waves(132 * 9, O, G);
  ASSERT_EQ(W.size(), 2u);
  EXPECT_EQ(W[0].Blocks, 4);
  EXPECT_EQ(W[0].Times, 2);
  EXPECT_EQ(W[0].Mean, 4);
  EXPECT_EQ(W[1].Blocks, 1);
  EXPECT_EQ(W[1].Mean, 1);
  EXPECT_EQ(W[1].Times, 1);
}

TEST(Occupancy, TheBusiestSmDecides) {
  Gpu G = gpu("h200");
  Occupancy O = occupancy({64, 0, 256}, G);
  std::vector<Wave> W = waves(133, O, G);
  ASSERT_EQ(W.size(), 1u);
  EXPECT_EQ(W[0].Blocks, 2);
  EXPECT_DOUBLE_EQ(W[0].Mean, 133 / 132.0);
}

TEST(Occupancy, ALargeGridIsContinuous) {
  Gpu G = gpu("h200");
  Occupancy O = occupancy({64, 0, 256}, G);
  std::vector<Wave> W = waves(132 * 101, O, G);
  ASSERT_EQ(W.size(), 1u);
  EXPECT_DOUBLE_EQ(W[0].Times, 101 / 4.0);
}

TEST(Occupancy, SharedMemoryAddsUp) {
  ptx::Function F;
  F.Variables.push_back({"tile", ptx::Space::Shared, 4096, 4});
  F.Variables.push_back({"depot", ptx::Space::Local, 512, 4});
  ptx::LaunchFacts L;
  L.Block = {16, 16, 1};
  L.DynamicSharedBytes = 1000;
  Resources R = resources(F, L, 40);
  EXPECT_EQ(R.SharedBytes, 5096u);
  EXPECT_EQ(R.BlockThreads, 256u);
  EXPECT_EQ(R.ThreadRegisters, 40u);
}

} // namespace
