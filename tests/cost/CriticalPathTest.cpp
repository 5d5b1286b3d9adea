// What a warp waits for: operands, and loads also for stores that may write what they read.
#include "analysis/cost/CriticalPath.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace restride;
using namespace restride::cost;

namespace {

constexpr double LoadCycles = 100;

/// The latencies of all blocks of a kernel with this body; %rd1 and %rd2 are pointers.
double pathOf(const std::string &Body) {
  std::string Text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 k_param_0)\n{\n"
                     ".reg .pred %p<9>;\n.reg .f32 %f<9>;\n.reg .b64 %rd<9>;\n" +
                     Body + "ret;\n}\n";
  llvm::Expected<ptx::Module> M = ptx::parse(Text);
  if (!M) {
    ADD_FAILURE() << llvm::toString(M.takeError());
    return 0;
  }
  Gpu G;
  G.Latencies = {{"alu", 4}, {"i64", 6}, {"store", 1}};
  const ptx::Function &F = M->Functions.front();
  ptx::ControlFlow C = ptx::controlFlow(F);
  std::vector<double> Cycles = criticalPaths(F, C, std::vector<double>(F.Body.size(), LoadCycles), G);
  return std::accumulate(Cycles.begin(), Cycles.end(), 0.0);
}

TEST(CriticalPath, FieldsOfOneRecordAreLoadedAtOnce) {
  EXPECT_DOUBLE_EQ(pathOf("ld.global.f32 %f1, [%rd1];\nst.global.f32 [%rd1], %f1;\n"
                          "ld.global.f32 %f2, [%rd1+4];\nst.global.f32 [%rd1+4], %f2;\n"),
                   101);
}

TEST(CriticalPath, AConstantAwayIsKnownToBeApart) {
  EXPECT_DOUBLE_EQ(pathOf("add.s64 %rd3, %rd1, 128;\nld.global.f32 %f1, [%rd1];\nst.global.f32 [%rd1], %f1;\n"
                          "ld.global.f32 %f2, [%rd3];\nst.global.f32 [%rd3], %f2;\n"),
                   107);
}

TEST(CriticalPath, AFieldInAnArrayOfItsOwnWaitsForTheStoreBefore) {
  EXPECT_DOUBLE_EQ(pathOf("ld.global.f32 %f1, [%rd1];\nst.global.f32 [%rd1], %f1;\n"
                          "ld.global.f32 %f2, [%rd2];\nst.global.f32 [%rd2], %f2;\n"),
                   201);
}

TEST(CriticalPath, ReadOnlyLoadsPassStores) {
  EXPECT_DOUBLE_EQ(pathOf("ld.global.f32 %f1, [%rd1];\nst.global.f32 [%rd1], %f1;\n"
                          "ld.global.nc.f32 %f2, [%rd2];\nst.global.f32 [%rd2], %f2;\n"),
                   101);
}

TEST(CriticalPath, AnOverlapWaits) {
  EXPECT_DOUBLE_EQ(pathOf("ld.global.f32 %f1, [%rd1];\nst.global.f32 [%rd1], %f1;\nld.global.b64 %rd3, [%rd1];\n"), 200);
}

TEST(CriticalPath, NothingPassesABarrier) {
  EXPECT_DOUBLE_EQ(pathOf("ld.global.f32 %f1, [%rd1];\nst.shared.f32 [%rd1], %f1;\nbar.sync 0;\n"
                          "ld.shared.f32 %f2, [%rd2];\nld.global.f32 %f3, [%rd2];\n"),
                   200);
}

TEST(CriticalPath, FewInstructionsUnderABranchDoNotEndARegion) {
  std::string Branches = "@%p1 bra A;\nld.global.f32 %f1, [%rd1];\nadd.f32 %f3, %f3, %f1;\nA:\n"
                         "@%p2 bra B;\nld.global.f32 %f2, [%rd2];\nadd.f32 %f3, %f3, %f2;\nB:\n";
  EXPECT_DOUBLE_EQ(pathOf(Branches), 108);
}

TEST(CriticalPath, ManyInstructionsUnderABranchDo) {
  std::string Long;
  for (int I = 0; I < 20; ++I)
    Long += "add.f32 %f4, %f4, %f4;\n";
  EXPECT_DOUBLE_EQ(pathOf("@%p1 bra A;\nld.global.f32 %f1, [%rd1];\n" + Long + "A:\nld.global.f32 %f2, [%rd2];\n"), 204);
}

TEST(CriticalPath, NothingPassesADivisionThatBranches) {
  std::string Next = "ld.global.nc.f32 %f2, [%rd2];\n";
  EXPECT_DOUBLE_EQ(pathOf("ld.global.nc.f32 %f1, [%rd1];\nrcp.rn.f32 %f3, %f1;\n" + Next), 200);
  EXPECT_DOUBLE_EQ(pathOf("ld.global.nc.f32 %f1, [%rd1];\nrcp.approx.f32 %f3, %f1;\n" + Next), 100);
}

TEST(CriticalPath, ALoadOfOneValueStandsBeforeWhatNeedsIt) {
  // nvcc puts it behind the division, a vector stays in front.
  std::string First = "ld.global.nc.f32 %f1, [%rd1];\n", Uses = "rcp.rn.f32 %f3, %f1;\nadd.f32 %f4, %f3, %f2;\n";
  EXPECT_DOUBLE_EQ(pathOf(First + "ld.global.nc.f32 %f2, [%rd2];\n" + Uses), 204);
  EXPECT_DOUBLE_EQ(pathOf(First + "ld.global.nc.v2.f32 {%f2, %f5}, [%rd2];\n" + Uses), 104);
  // What overwrites its address, or memory, comes after it.
  EXPECT_DOUBLE_EQ(pathOf(First + "ld.global.f32 %f2, [%rd2];\nadd.s64 %rd2, %rd2, 4;\n" + Uses), 104);
  EXPECT_DOUBLE_EQ(pathOf(First + "ld.global.f32 %f2, [%rd2];\nst.global.f32 [%rd4], %f6;\n" + Uses), 104);
}

TEST(CriticalPath, LoadsAreIssuedTogetherUntilOneIsWaitedFor) {
  llvm::Expected<ptx::Module> M = ptx::parse(
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .f32 %f<9>;\n.reg .b64 %rd<9>;\n"
      "ld.global.b64 %rd3, [%rd1];\nld.global.f32 %f1, [%rd2];\nld.global.f32 %f2, [%rd3];\nld.global.f32 %f3, [%rd2+4];\nret;\n}\n");
  ASSERT_TRUE(bool(M)) << llvm::toString(M.takeError());
  const ptx::Function &F = M->Functions.front();
  std::vector<unsigned> Segments = issueOrder(F, ptx::controlFlow(F)).Segments;
  EXPECT_EQ(Segments[0], Segments[1]);
  EXPECT_EQ(Segments[0], Segments[3]);
  EXPECT_EQ(Segments[0] + 1, Segments[2]);
}

} // namespace
