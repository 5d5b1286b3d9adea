// Against adds that were timed on an H200.
#include "analysis/cost/Atomics.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace restride;
using namespace restride::cost;

namespace {

ptx::Instruction add(ptx::Type::Kind K) {
  ptx::Instruction I;
  I.Op = ptx::Opcode::Red;
  I.Mnemonic = "red.global.add";
  I.Ty = {K, 32};
  return I;
}

/// Lane l adds to word l / \p Sharing, words \p Stride bytes apart.
ptx::Request lanes(unsigned Sharing, uint64_t Stride = 4) {
  ptx::Request R;
  R.Mask = ~0u;
  for (unsigned Lane = 0; Lane < 32; ++Lane)
    R.Address[Lane] = (1ull << 40) + Lane / Sharing * Stride;
  return R;
}

TEST(Atomics, OperationsAreSectorsOrLanesOfAWord) {
  EXPECT_EQ(atomicOperations(lanes(1), false), 4);
  EXPECT_EQ(atomicOperations(lanes(1, 32), false), 32);
  EXPECT_EQ(atomicOperations(lanes(32), false), 32);
  EXPECT_EQ(atomicOperations(lanes(32), true), 1) << "one lane adds for all";
  // Two, four and eight lanes a word, in words of 32 lines that follow each other: 0.42, 0.55 and 1.07 cycles of the GPU.
  EXPECT_EQ(atomicOperations(lanes(2), false), 4);
  EXPECT_EQ(atomicOperations(lanes(4), false), 4);
  EXPECT_EQ(atomicOperations(lanes(8), false), 8);
}
TEST(Atomics, InSharedMemoryLanesOfAWordTakeTurns) {
  auto cycles = [](ptx::Type::Kind K, unsigned Bits, unsigned Sharing) {
    ptx::Instruction I = add(K);
    I.Mem = ptx::Space::Shared;
    I.Ty.Bits = Bits;
    EXPECT_TRUE(isSharedAtomic(I));
    EXPECT_FALSE(isAtomic(I));
    return sharedAtomicCycles(I, lanes(Sharing, Bits / 8));
  };
  for (unsigned Sharing : {1, 4, 32})
    EXPECT_NEAR(cycles(ptx::Type::Unsigned, 32, Sharing), 1.9, 0.1);
  EXPECT_NEAR(cycles(ptx::Type::Float, 32, 1), 4.2, 0.3);
  EXPECT_NEAR(cycles(ptx::Type::Float, 32, 8), 21.5, 1.5);
  EXPECT_NEAR(cycles(ptx::Type::Float, 32, 32), 85.3, 3);
  EXPECT_NEAR(cycles(ptx::Type::Unsigned, 64, 4), 17.1, 0.5);
  EXPECT_NEAR(cycles(ptx::Type::Unsigned, 64, 32), 124.9, 2);
}

/// One operation on each.
LineOperations lines(std::vector<uint64_t> Of) {
  LineOperations Out;
  for (uint64_t Line : Of)
    Out.push_back({Line, 1});
  return Out;
}

TEST(Atomics, LinesAreThoseThatWarpsHaveInCommon) {
  EXPECT_EQ(atomicLines({lines({1, 2, 3})}), 3);
  EXPECT_EQ(atomicLines({lines({1, 2, 3}), lines({1, 2, 3})}), 3);
  EXPECT_EQ(atomicLines({lines({1, 2}), lines({2, 3})}), 4);
  EXPECT_TRUE(std::isinf(atomicLines({lines({1, 2}), lines({3, 4})})));
  EXPECT_NEAR(atomicLines({{{1, 24}, {5, 8}}, {{1, 24}, {6, 8}}}), 32 * 32 / (24 * 24.), 1e-9) << "most of them are on one";
}

TEST(Atomics, LinesThatPassAreInAllSlicesBeforeLong) {
  // 270 and 8,448 words of 4 to 128 bytes at a time.
  for (auto [Lines, Times] : {std::pair(17., 7.3), {34., 4.8}, {68., 2.96}, {135., 2.1}, {264., 1.54}, {528., 1.29}, {2703., 1.}})
    EXPECT_NEAR(busiestSliceInPassing(Lines) * 96, Times, 0.18 * Times) << Lines;
}

TEST(Atomics, FewLinesAreInFewSlices) {
  EXPECT_EQ(busiestSlice(1), 1);
  EXPECT_EQ(busiestSlice(2), 1);
  EXPECT_EQ(busiestSlice(8), 0.5);
  EXPECT_EQ(busiestSlice(16), 0.25);
  // Warps that add to 32 rows of 4 to 64 lines took 4.9, 11.7, 21.9, 10.7 and 6.1 cycles.
  EXPECT_NEAR(busiestSlice(2) * 8 * 1.4, 11.7, 1);
  EXPECT_NEAR(busiestSlice(8) * 32 * 1.4, 21.9, 1);
  EXPECT_NEAR(busiestSlice(16) * 32 * 1.4, 10.7, 1);
  EXPECT_NEAR(busiestSlice(32) * 32 * 1.4, 6.1, 1);
  EXPECT_NEAR(busiestSlice(1024) * 1024, 20, 3);
  EXPECT_GT(busiestSlice(1e6), busiestSlice(std::numeric_limits<double>::infinity()));
}

} // namespace
