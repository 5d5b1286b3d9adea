// The weighted graph, registers and critical path of hand-written PTX.
#include "analysis/cost/CriticalPath.h"
#include "analysis/cost/LiveRegisters.h"
#include "analysis/cost/WeightedCfg.h"

#include "gtest/gtest.h"

using namespace restride;
using namespace restride::cost;

namespace {

/// A guard, then a loop of 128 trips.
const char *const Looping = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)
{
.reg .pred %p<3>;
.reg .f32 %f<3>;
.reg .b32 %r<4>;
.reg .b64 %rd<3>;
ld.param.u64 %rd1, [k_param_0];
ld.param.u32 %r1, [k_param_1];
mov.u32 %r2, %tid.x;
setp.ge.s32 %p1, %r2, %r1;
@%p1 bra DONE;
mov.u32 %r3, 0;
mov.f32 %f1, 0f00000000;
LOOP:
ld.global.f32 %f2, [%rd1];
add.f32 %f1, %f1, %f2;
add.s64 %rd1, %rd1, 4;
add.s32 %r3, %r3, 1;
setp.lt.s32 %p2, %r3, 128;
@%p2 bra LOOP;
st.global.f32 [%rd1], %f1;
DONE:
ret;
}
)";

struct Parsed {
  ptx::Module M;
  ptx::ControlFlow C;
  const ptx::Function &f() const { return M.Functions[0]; }
};

Parsed parsed(const char *Text) {
  Parsed P;
  llvm::Expected<ptx::Module> M = ptx::parse(Text);
  if (!M) {
    ADD_FAILURE() << llvm::toString(M.takeError());
    return P;
  }
  P.M = std::move(*M);
  P.C = ptx::controlFlow(P.f());
  return P;
}

/// Weights of entry, preheader, loop, after the loop, exit.
ptx::WarpTrace visits(std::vector<double> Blocks, bool Known = true) {
  ptx::WarpTrace T;
  T.Loops = {{uint64_t(Blocks[1]), 64, Blocks[2], Known}};
  T.BlockWeight = std::move(Blocks);
  return T;
}

TEST(WeightedCfg, WeightsAreVisitsPerWarp) {
  Parsed P = parsed(Looping);
  ASSERT_EQ(P.C.Blocks.size(), 5u);
  ptx::WarpTrace T = visits({1, 1, 128, 1, 1});
  WeightedCfg G = weightedCfg(P.f(), P.C, {&T});
  ASSERT_EQ(G.Loops.size(), 1u);
  EXPECT_EQ(G.Loops[0].Trips, 128);
  EXPECT_EQ(G.Nodes[2].Weight, 128);
  EXPECT_EQ(G.Nodes[3].Weight, 1);
  EXPECT_TRUE(G.Notes.empty());
}

TEST(WeightedCfg, WarpsAreAveraged) {
  Parsed P = parsed(Looping);
  ptx::WarpTrace A = visits({1, 1, 128, 1, 1}), B = visits({1, 0, 0, 0, 1});
  WeightedCfg G = weightedCfg(P.f(), P.C, {&A, &B});
  EXPECT_DOUBLE_EQ(G.Nodes[1].Weight, 0.5);
  EXPECT_DOUBLE_EQ(G.Nodes[2].Weight, 64);
  EXPECT_EQ(G.Loops[0].Trips, 128) << "per entry";
}

TEST(WeightedCfg, AnAssumedTripCountIsSaid) {
  Parsed P = parsed(Looping);
  ptx::WarpTrace T = visits({1, 1, 16, 1, 1}, false);
  WeightedCfg G = weightedCfg(P.f(), P.C, {&T});
  ASSERT_EQ(G.Notes.size(), 1u);
  EXPECT_EQ(G.Notes[0].Text, "is not counted: 16 trips are assumed");
  ptx::WarpTrace Cut = visits({1, 1, 4, 1, 1}, false);
  Cut.Truncated = true;
  EXPECT_DOUBLE_EQ(weightedCfg(P.f(), P.C, {&Cut}).Nodes[2].Weight, 4) << "the limit ended something else";
  Cut.Loops[0].Hurried = true;
  EXPECT_DOUBLE_EQ(weightedCfg(P.f(), P.C, {&Cut}).Nodes[2].Weight, 16) << "whatever the limit let pass";
  ptx::WarpTrace Whole = visits({1, 1, 10, 1, 1}, false);
  EXPECT_DOUBLE_EQ(weightedCfg(P.f(), P.C, {&Whole, &Cut}).Nodes[2].Weight, 10) << "another warp shows it";
  ptx::WarpTrace Skipping = visits({1, 0, 0, 0, 1}, false);
  EXPECT_DOUBLE_EQ(weightedCfg(P.f(), P.C, {&Skipping, &Cut}).Nodes[2].Weight, 8) << "a warp that does not enter it shows nothing";
}

TEST(WeightedCfg, TotalIsTheWeightedSum) {
  WeightedCfg G;
  G.Nodes.resize(2);
  G.Nodes[0].Weight = 1, G.Nodes[0].Cost = 10;
  G.Nodes[1].Weight = 128, G.Nodes[1].Cost = 2;
  EXPECT_DOUBLE_EQ(G.total(), 266);
}

TEST(WeightedCfg, Dump) {
  Parsed P = parsed(Looping);
  ptx::WarpTrace T = visits({1, 1, 128, 1, 1});
  EXPECT_EQ(dump(P.f(), P.C, weightedCfg(P.f(), P.C, {&T})),
            "k\n"
            "  loop 0: block 2 line 0 trips 128.00 (counted) in -\n"
            "  node 0: [0, 5) p 1.000 weight 1.00 cost 0.00 -> 4 1\n"
            "  node 1: [5, 7) p 1.000 weight 1.00 cost 0.00 -> 2\n"
            "  node 2: [7, 13) p 1.000 weight 128.00 cost 0.00 -> 2 3\n"
            "  node 3: [13, 14) p 1.000 weight 1.00 cost 0.00 -> 4\n"
            "  node 4: [14, 15) p 1.000 weight 1.00 cost 0.00 ->\n");
}

TEST(LiveRegisters, CountsWhatIsLiveAtOnce) {
  Parsed P = parsed(Looping);
  // The loop keeps a pointer, a counter, a sum and a loaded value: far below the least there is.
  EXPECT_EQ(estimateRegisters(P.f(), P.C), 16u);
  std::string Many = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 k_param_0)\n{\n.reg "
                     ".f32 %f<80>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [k_param_0];\n";
  for (int I = 1; I <= 60; ++I)
    Many += "ld.global.f32 %f" + std::to_string(I) + ", [%rd1+" + std::to_string(4 * I) + "];\n";
  for (int I = 2; I <= 60; ++I)
    Many += "add.f32 %f1, %f1, %f" + std::to_string(I) + ";\n";
  Many += "st.global.f32 [%rd1], %f1;\nret;\n}\n";
  Parsed Q = parsed(Many.c_str());
  unsigned Registers = estimateRegisters(Q.f(), Q.C);
  EXPECT_GE(Registers, 64u);
  EXPECT_LE(Registers, 72u);
  EXPECT_EQ(Registers % 8, 0u);
  EXPECT_EQ(estimateRegisters(Q.f(), Q.C, 32), 32u);
}

TEST(CriticalPath, WaitsForOperandsOnly) {
  Parsed P = parsed(Looping);
  Gpu G;
  G.Latencies = {{"alu", 4}, {"i64", 6}, {"store", 1}};
  std::vector<double> Loads(P.f().Body.size(), 100);
  // Load and dependent add; the counter runs beside them.
  EXPECT_DOUBLE_EQ(criticalPaths(P.f(), P.C, Loads, G)[2], 104);
}

} // namespace
