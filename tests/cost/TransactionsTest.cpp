#include "analysis/cost/Transactions.h"

#include "gtest/gtest.h"

using namespace restride;
using namespace restride::cost;

namespace {

constexpr uint64_t Base = 1ull << 40;

/// Lane l accesses Base + Start + l * Stride.
ptx::Request strided(uint64_t Stride, uint64_t Start = 0, uint32_t Mask = ~0u) {
  ptx::Request R;
  R.Mask = Mask;
  for (unsigned Lane = 0; Lane < 32; ++Lane)
    R.Address[Lane] = Base + Start + Lane * Stride;
  return R;
}

struct Pattern {
  const char *Name;
  uint64_t Stride, Start;
  unsigned Width;
  unsigned Sectors, Lines, TagPasses, BankCycles;
};

TEST(Transactions, KnownPatterns) {
  const Pattern Patterns[] = {
      // name                          stride start width  sectors lines tags banks
      {"coalesced floats", 4, 0, 4, 4, 1, 1, 1},        {"coalesced floats, off by one", 4, 4, 4, 5, 2, 1, 1},
      {"coalesced doubles", 8, 0, 8, 8, 2, 1, 2},       {"coalesced float4", 16, 0, 16, 16, 4, 1, 4},
      {"uniform float", 0, 0, 4, 1, 1, 1, 1},           {"uniform float2", 0, 0, 8, 1, 1, 1, 2},
      {"uniform float4", 0, 0, 16, 1, 1, 1, 4},         {"one float of 32 bytes", 32, 0, 4, 32, 8, 2, 8},
      {"one float of 24 bytes", 24, 0, 4, 24, 6, 2, 2}, {"bytes", 1, 0, 1, 1, 1, 1, 1},
      {"one float of 36 bytes", 36, 0, 4, 32, 9, 3, 1}, {"one float2 of 40 bytes", 40, 0, 8, 32, 10, 3, 2},
      {"one float4 of 96 bytes", 96, 0, 16, 32, 24, 6, 8},
  };
  for (const Pattern &P : Patterns) {
    SCOPED_TRACE(P.Name);
    ptx::Request R = strided(P.Stride, P.Start);
    SectorTouches S = sectorsOf(R, P.Width);
    EXPECT_EQ(S.size(), P.Sectors);
    EXPECT_EQ(linesOf(S), P.Lines);
    EXPECT_EQ(tagPassesOf(S), P.TagPasses);
    EXPECT_EQ(bankCyclesOf(R, P.Width), P.BankCycles);
  }
}

/// What counters of an H200 show for two lines that are \p Apart.
unsigned passesOfTwo(uint64_t Apart) { return tagPassesOf(sectorsOf(strided(Apart * LineBytes, 0, 0x3), 4)); }

TEST(Transactions, TagBanksAreAHashOfTheLine) {
  for (uint64_t Apart : {5, 10, 15, 19, 22, 25, 28, 33, 36, 320, (1 << 16) ^ 1, (1 << 20) ^ 2, (1 << 23) ^ 3})
    EXPECT_EQ(passesOfTwo(Apart), 2u) << Apart;
  for (uint64_t Apart : {1, 2, 4, 8, 16, 17, 20, 32, 64, 128, 512, 640, 1 << 16, 1 << 20, 1 << 23})
    EXPECT_EQ(passesOfTwo(Apart), 1u) << Apart;
}

TEST(Transactions, FarRecordsWaitForOneBank) {
  EXPECT_EQ(bankCyclesOf(strided(4096), 4), 32u);
  EXPECT_EQ(tagPassesOf(sectorsOf(strided(128), 4)), 8u);
  EXPECT_EQ(tagPassesOf(sectorsOf(strided(640), 4)), 10u);
}

TEST(Transactions, SectorsKnowTheirBytes) {
  SectorTouches S = sectorsOf(strided(8), 4);
  ASSERT_EQ(S.size(), 8u);
  for (const SectorTouch &T : S)
    EXPECT_EQ(T.Bytes, 0x0f0f0f0fu);
  EXPECT_TRUE(sectorsOf(strided(4), 4)[0].whole());
}

TEST(Transactions, PartlyWrittenLinesSendAMaskToo) {
  EXPECT_EQ(packetsOf(sectorsOf(strided(4), 4)), 4u);
  EXPECT_EQ(packetsOf(sectorsOf(strided(16), 16)), 16u);
  EXPECT_EQ(packetsOf(sectorsOf(strided(8), 4)), 8u + 2);
  EXPECT_EQ(packetsOf(sectorsOf(strided(32), 4)), 32u + 8);
  EXPECT_EQ(packetsOf(sectorsOf(strided(128), 4)), 32u + 32);
}

TEST(Transactions, AnAccessAcrossSectorsTouchesBoth) {
  SectorTouches S = sectorsOf(strided(0, 28), 8);
  ASSERT_EQ(S.size(), 2u);
  EXPECT_EQ(S[0].Bytes, 0xf0000000u);
  EXPECT_EQ(S[1].Bytes, 0x0000000fu);
}

TEST(Transactions, DescendingLanesGiveAscendingSectors) {
  ptx::Request R;
  R.Mask = ~0u;
  for (unsigned Lane = 0; Lane < 32; ++Lane)
    R.Address[Lane] = Base + (31 - Lane) * 32;
  SectorTouches S = sectorsOf(R, 4);
  ASSERT_EQ(S.size(), 32u);
  for (unsigned I = 1; I < S.size(); ++I)
    EXPECT_LT(S[I - 1].Sector, S[I].Sector);
}

TEST(Transactions, InactiveLanesCostNothing) {
  EXPECT_EQ(sectorsOf(strided(32, 0, 0x1), 4).size(), 1u);
  EXPECT_EQ(bankCyclesOf(strided(32, 0, 0xff), 4), 2u);
}

TEST(Transactions, SharedMemoryBanks) {
  EXPECT_EQ(bankCyclesOf(strided(4), 4), 1u);
  EXPECT_EQ(bankCyclesOf(strided(8), 4), 2u);
  EXPECT_EQ(bankCyclesOf(strided(128), 4), 32u);
  EXPECT_EQ(bankCyclesOf(strided(132), 4), 1u);
  EXPECT_EQ(bankCyclesOf(strided(0), 4), 1u);
  EXPECT_EQ(bankCyclesOf(strided(16), 16), 4u);
}

} // namespace
