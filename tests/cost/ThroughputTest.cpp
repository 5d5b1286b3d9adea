// The throughput model on kernels whose winners are known from measurement.
#include "PtxKernels.h"
#include "analysis/cost/Rank.h"
#include "analysis/cost/ThroughputModel.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace restride;
using namespace restride::cost;
using namespace restride::cost::test;

namespace {

constexpr int64_t Elements = 1 << 25;

Gpu h200() {
  llvm::Expected<Gpu> G = loadGpu("h200");
  if (!G) {
    ADD_FAILURE() << llvm::toString(G.takeError());
    return {};
  }
  return *G;
}

KernelLaunch launch(int64_t N) {
  KernelLaunch L;
  L.Function = "k";
  L.Facts.Grid = {uint32_t(N / 256), 1, 1};
  L.Facts.Block = {256, 1, 1};
  L.Facts.Arguments = {std::nullopt, std::nullopt, std::nullopt, N};
  L.Facts.Elements = N;
  L.Facts.Orders = {ptx::IndexOrder::Random}; // nothing is left open
  return L;
}

Score scoreOf(const std::string &Text, int64_t N = Elements) {
  llvm::Expected<ptx::Module> M = ptx::parse(Text);
  if (!M) {
    ADD_FAILURE() << llvm::toString(M.takeError());
    return {};
  }
  llvm::Expected<Score> S = score(*M, launch(N), {}, h200(), Model::Throughput);
  if (!S) {
    ADD_FAILURE() << llvm::toString(S.takeError());
    return {};
  }
  return *S;
}

std::vector<Load> scalars(unsigned Count) {
  std::vector<Load> L;
  for (unsigned I = 0; I < Count; ++I)
    L.push_back({4 * I, 1});
  return L;
}

/// Fields in arrays of their own.
std::string soa(unsigned Fields, Place P = {}) {
  P.Stride = 4;
  P.Plane = 4 * Elements - 4;
  return kernel(P, scalars(Fields));
}

std::string aos(unsigned Fields, unsigned Record, Place P = {}) {
  P.Stride = Record;
  return kernel(P, scalars(Fields));
}

std::string align16(unsigned Vectors, unsigned Record, Place P = {}) {
  P.Stride = Record;
  std::vector<Load> L;
  for (unsigned V = 0; V < Vectors; ++V)
    L.push_back({16 * V, 4});
  return kernel(P, L);
}

TEST(Throughput, SoaWinsWhenOneOfEightFieldsIsRead) {
  double Soa = scoreOf(soa(1)).total(), Aos = scoreOf(aos(1, 32)).total();
  EXPECT_NEAR(Aos / Soa, 2.62, 0.2); // as measured, with the output
}

TEST(Throughput, Align16WinsGathersOfWholeRecords) {
  Place Gather;
  Gather.Gather = true;
  for (unsigned Fields : {4u, 8u}) {
    SCOPED_TRACE(Fields);
    double A16 = scoreOf(align16(Fields / 4, 4 * Fields, Gather)).total();
    EXPECT_GT(scoreOf(soa(Fields, Gather)).total() / A16, 2.5); // measured: 3.8 and 7.4
    EXPECT_GT(scoreOf(aos(Fields, 4 * Fields, Gather)).total() / A16, 1);
  }
}

TEST(Throughput, IndicesOfUnknownOrderCountAsRandomAndAsSorted) {
  Place Gather;
  Gather.Gather = true;
  llvm::Expected<ptx::Module> M = ptx::parse(soa(8, Gather));
  ASSERT_TRUE(bool(M)) << llvm::toString(M.takeError());
  auto Cycles = [&](std::vector<ptx::IndexOrder> Orders, bool Local) {
    KernelLaunch L = launch(Elements);
    L.Facts.Orders = Orders;
    L.Facts.LocalData = Local;
    return throughputCost(*M, *M->find("k"), L, h200(), nullptr).Cycles;
  };
  double Random = Cycles({ptx::IndexOrder::Random}, false), Sorted = Cycles({ptx::IndexOrder::Random}, true);
  EXPECT_GT(Random, 2 * Sorted);
  EXPECT_NEAR(Cycles({}, false) / std::sqrt(Random * Sorted), 1, 1e-6);
}

TEST(Throughput, UniformLoadsCostWavefrontsByWidth) {
  Place Uniform;
  Uniform.Uniform = 4096;
  // Three fields: padding to 16 bytes loads a field for nothing.
  KernelCost Scalars = scoreOf(aos(3, 12, Uniform), 1 << 18).Kernels[0];
  KernelCost Padded = scoreOf(align16(1, 16, Uniform), 1 << 18).Kernels[0];
  EXPECT_NEAR(Padded.Parts.L1 / Scalars.Parts.L1, 4 / 3.0, 0.02);
  EXPECT_LT(Padded.Parts.Issue, Scalars.Parts.Issue);
}

TEST(Throughput, ManyScalarLoadsOfARecordAreBoundByL1) {
  KernelCost Aos = scoreOf(aos(16, 64)).Kernels[0], A16 = scoreOf(align16(4, 64)).Kernels[0];
  EXPECT_EQ(Aos.BoundBy, "l1");
  EXPECT_EQ(A16.BoundBy, "dram");
  EXPECT_GT(Aos.Cycles / A16.Cycles, 1.5); // measured: 2.0
}

TEST(Throughput, StreamingAllFieldsIsATie) {
  double Soa = scoreOf(soa(4)).total(), Aos = scoreOf(aos(4, 16)).total();
  EXPECT_NEAR(Aos / Soa, 1, 0.12);
}

TEST(Throughput, ANumberOfAccessesIsReported) {
  KernelCost K = scoreOf(aos(2, 32)).Kernels[0];
  ASSERT_EQ(K.Accesses.size(), 3u);
  EXPECT_DOUBLE_EQ(K.Accesses[0].SectorsPerRequest, 32);
  EXPECT_EQ(K.Accesses[0].Bytes, 4u);
  EXPECT_DOUBLE_EQ(K.Accesses[0].RequestsPerWarp, 1);
  EXPECT_FALSE(K.Accesses[0].IsStore);
  EXPECT_TRUE(K.Accesses[2].IsStore);
  EXPECT_DOUBLE_EQ(K.Accesses[2].SectorsPerRequest, 4);
  EXPECT_FALSE(K.Accesses[0].Indirect);
}

TEST(Throughput, StreamsMoveTheirBytesOnce) {
  // 4 bytes in and 4 out for each element.
  KernelCost K = scoreOf(soa(1)).Kernels[0];
  EXPECT_NEAR(K.Parts.Dram, h200().streamCycles(8.0 * Elements), 0.05 * K.Parts.Dram);
}

TEST(Throughput, WhatLiesBetweenFieldsNeedNoPlaceInL2) {
  // A word of each 256-byte record: 512 MB of records, 256 MB of lines; and a sixteenth of that.
  Gpu G = h200();
  auto Bytes = [&](int64_t N) {
    llvm::Expected<ptx::Module> M = ptx::parse(aos(1, 256));
    EXPECT_TRUE(bool(M)) << llvm::toString(M.takeError());
    KernelLaunch L = launch(N);
    L.Calls = 100;
    return throughputCost(*M, *M->find("k"), L, G, nullptr).DramBytes;
  };
  EXPECT_GT(Bytes(1 << 21), 64.0 * (1 << 21));
  EXPECT_LT(Bytes(1 << 17), 64.0 * (1 << 17) / 50);
}

TEST(Throughput, WhatLiesBetweenFieldsNeedNoPlaceInL2InGridStrideLoopsEither) {
  // One field of four in tiles of 32: a line of each 512 bytes, in jumps of the grid.
  Place P;
  P.Uniform = 120;
  std::string Tiles = kernel(P, {{0, 1}});
  const std::string Index = "mul.wide.s32 %rd10, %r6, 4;";
  Tiles.replace(Tiles.find(Index), Index.size(), R"(mov.u32 %r7, %nctaid.x;
mul.lo.s32 %r7, %r7, %r3;
mad.lo.s32 %r7, %r7, %r6, %r5;
and.b32 %r8, %r7, 31;
sub.s32 %r7, %r7, %r8;
shl.b32 %r7, %r7, 2;
add.s32 %r7, %r7, %r8;
mul.wide.s32 %rd10, %r7, 4;)");
  constexpr int64_t Threads = 132 * 256;
  llvm::Expected<ptx::Module> M = ptx::parse(Tiles);
  ASSERT_TRUE(bool(M)) << llvm::toString(M.takeError());
  KernelLaunch L = launch(Threads);
  L.Calls = 100;
  KernelCost K = throughputCost(*M, *M->find("k"), L, h200(), nullptr);
  EXPECT_LT(K.DramBytes, 0.2 * Threads * 120 * 4) << "16 MB of 65";
}

TEST(Throughput, WhatLiesBetweenTwoRowsOfABlockIsReadByOthers) {
  // Blocks of 16 columns go through 1,600 rows of eight arrays, 16 rows in each trip.
  constexpr unsigned Columns = 1904, Arrays = 8, Trips = 100;
  Place P;
  P.Uniform = Trips;
  P.Plane = 1 << 26;
  std::string Rows = kernel(P, std::vector<Load>(Arrays, {0, 1}));
  const std::string Index = "mul.wide.s32 %rd10, %r6, 4;";
  Rows.replace(Rows.find(Index), Index.size(), R"(shr.u32 %r7, %r4, 4;
mad.lo.s32 %r7, %r6, 16, %r7;
and.b32 %r8, %r4, 15;
mad.lo.s32 %r8, %r2, 16, %r8;
mad.lo.s32 %r7, %r7, )" + std::to_string(Columns) + R"(, %r8;
mul.wide.s32 %rd10, %r7, 4;)");
  llvm::Expected<ptx::Module> M = ptx::parse(Rows);
  ASSERT_TRUE(bool(M)) << llvm::toString(M.takeError());
  KernelLaunch L = launch(Elements);
  L.Facts.Grid = {Columns / 16, 1, 1};
  L.Calls = 100;
  EXPECT_GT(throughputCost(*M, *M->find("k"), L, h200(), nullptr).DramBytes, 0.9 * Arrays * 4 * Columns * Trips * 16) << "97 MB";
}

TEST(Throughput, NeighboursWaitForTheSameSector) {
  // Uniform loads of eight words per trip: of records one line is new in each
  // trip for all warps at once, of arrays eight lines every eighth trip or later.
  Place Uniform;
  Uniform.Uniform = 4096;
  double Aos = scoreOf(aos(8, 32, Uniform), 1 << 18).Kernels[0].Parts.Latency;
  double Soa = scoreOf(soa(8, Uniform), 1 << 18).Kernels[0].Parts.Latency;
  EXPECT_GT(Aos / Soa, 1.25);
}

TEST(Throughput, AWalkOverRecordsWaitsForEachSector) {
  // Four fields of a record of seven are in a new sector nearly every trip, those of arrays in every eighth, and the
  // block in front waits for each: 287 cycles of an H200's L2.
  constexpr unsigned Trips = 4096;
  Place Walk;
  Walk.Uniform = Trips;
  int64_t Threads = 65536;
  double Records = scoreOf(aos(4, 28, Walk), Threads).Kernels.front().Parts.Latency;
  double Arrays = scoreOf(soa(4, Walk), Threads).Kernels.front().Parts.Latency;
  EXPECT_GT(Records, 0.8 * 287 * Trips);
  EXPECT_LT(Records, 1.5 * 287 * Trips);
  EXPECT_LT(Arrays, 0.5 * Records);
}

TEST(Throughput, ScoresAreDeterministic) {
  Place Gather;
  Gather.Gather = true;
  EXPECT_EQ(scoreOf(aos(4, 16, Gather)).total(), scoreOf(aos(4, 16, Gather)).total());
}

TEST(Throughput, CallsWeightTheTotal) {
  llvm::Expected<ptx::Module> M = ptx::parse(soa(1));
  ASSERT_TRUE(bool(M)) << llvm::toString(M.takeError());
  KernelLaunch L = launch(Elements);
  L.Calls = 10;
  llvm::Expected<Score> S = score(*M, L, Conversion{1e9, 1}, h200(), Model::Throughput);
  ASSERT_TRUE(bool(S)) << llvm::toString(S.takeError());
  EXPECT_DOUBLE_EQ(S->Cycles, 10 * S->Kernels[0].Cycles);
  EXPECT_GT(S->ConversionCycles, 0);
}

// Launches of one kernel vary together, those of several by themselves.
TEST(Throughput, SeveralKernelsVaryLessThanOneThatIsCalledAsOften) {
  llvm::Expected<ptx::Module> M = ptx::parse(soa(1));
  ASSERT_TRUE(bool(M)) << llvm::toString(M.takeError());
  KernelLaunch L = launch(Elements);
  auto noise = [&](llvm::ArrayRef<double> Calls) {
    std::vector<KernelLaunch> All(Calls.size(), L);
    for (size_t I = 0; I < Calls.size(); ++I)
      All[I].Calls = Calls[I];
    llvm::Expected<Score> S = score(*M, All, {}, h200(), Model::Throughput);
    return S ? S->NoiseCycles : (ADD_FAILURE() << llvm::toString(S.takeError()), 0.0);
  };
  EXPECT_DOUBLE_EQ(noise({10}), 10 * noise({1}));
  EXPECT_DOUBLE_EQ(noise({3, 4}), noise({5}));
}

/// \p Line in a kernel that loads and stores each element, Times times.
std::string with(const std::string &Line, unsigned Times = 1) {
  std::string T = kernel({.Stride = 4}, {{0, 1}}), Lines;
  for (unsigned I = 0; I < Times; ++I)
    Lines += Line + "\n";
  return T.insert(T.find("st.global"), Lines);
}

TEST(Throughput, AtomicsOnOneAddressWaitForEachOther) {
  double Without = scoreOf(with("")).Kernels[0].Parts.L2;
  double Warps = Elements / 32, AtomicCycles = h200().AtomicCycles;
  ASSERT_GT(AtomicCycles, 0);
  // One for each warp, one for each lane, and as many addresses as lanes.
  EXPECT_NEAR(scoreOf(with("atom.global.add.u32 %r6, [%rd6], 1;")).Kernels[0].Parts.L2, Warps * AtomicCycles, 0.1 * Warps * AtomicCycles);
  EXPECT_NEAR(scoreOf(with("atom.global.add.f32 %f2, [%rd6], %f1;")).Kernels[0].Parts.L2, 32 * 2 * Warps * AtomicCycles, 0.1 * 72 * Warps * AtomicCycles);
  EXPECT_LT(scoreOf(with("atom.global.add.u32 %r6, [%rd8], 1;")).Kernels[0].Parts.L2, 3 * Without);
}

TEST(Throughput, AtomicsOnFewRecordsWaitForTheirSectors) {
  // Every warp adds to the same 32 records of 20 bytes, or to 32 words in a row.
  const char *Lane = "mov.u32 %r7, %tid.x;\nand.b32 %r7, %r7, 31;\nmul.wide.u32 %rd12, %r7, ";
  auto l2 = [&](const char *Bytes) {
    return scoreOf(with(Lane + std::string(Bytes) + ";\nadd.s64 %rd12, %rd6, %rd12;\nred.global.add.u32 [%rd12], 1;"))
        .Kernels[0].Parts.L2;
  };
  double Cycles = Elements / 32 * h200().AtomicCycles;
  EXPECT_NEAR(l2("4"), 4 * Cycles, 0.2 * Cycles);         // one line, four sectors
  EXPECT_NEAR(l2("20"), 20 * 0.5 * Cycles, 2 * Cycles);   // five lines, of which one slice has two or three
}

TEST(Throughput, RowsThatBlocksShareAreFetchedOnce) {
  // o[i] = p[i] + p[i + 2^18]: whoever reads the second row finds it in L2 when it comes to the first.
  Place P;
  P.Plane = 1 << 20;
  KernelCost K = scoreOf(kernel(P, {{0, 1}, {0, 1}})).Kernels[0];
  EXPECT_NEAR(K.DramBytes, 8.0 * Elements, 0.1 * Elements);
  P.Plane = 1ul << 30; // 2^28 elements away is another array, which nobody else reads
  EXPECT_NEAR(scoreOf(kernel(P, {{0, 1}, {0, 1}})).Kernels[0].DramBytes, 12.0 * Elements, 0.1 * Elements);
}

/// Every thread adds up \p Trips words in a row of each of \p Arrays arrays, and writes each sum over the last word.
std::string columns(unsigned Arrays, unsigned Trips) {
  Place P;
  P.Uniform = Trips;
  std::string T = kernel(P, {});
  const std::string Index = "mul.wide.s32 %rd10, %r6,", Next = "add.s32 %r6, %r6, 1;";
  T.replace(T.find(Index), Index.size(),
            "mad.lo.s32 %r7, %r5, " + std::to_string(Trips) + ", %r6;\nmul.wide.s32 %rd10, %r7,");
  std::string Words;
  for (unsigned A = 0; A < Arrays; ++A) {
    const std::string At = "[%rd11+" + std::to_string((1ul << 31) * A) + "]";
    Words += "ld.global.f32 %f2, " + At + ";\nadd.f32 %f1, %f1, %f2;\nst.global.f32 " + At + ", %f1;\n";
  }
  return T.insert(T.find(Next), Words);
}

TEST(Throughput, ColumnsThatL2CannotKeepAreWrittenBackEachTime) {
  // The threads' lines of one array fit L2, 35 MB; those of four are mostly given up before the next word.
  constexpr unsigned Trips = 40;
  constexpr int64_t Threads = 1 << 22;
  auto perWord = [](unsigned Arrays) {
    return scoreOf(columns(Arrays, Trips), Threads).Kernels[0].DramBytes / (double(Threads) * Trips * Arrays);
  };
  EXPECT_LT(perWord(1), 16); // nearly each word once in and once out
  EXPECT_GT(perWord(4), 50); // two of three times a granule in, 64 bytes, and a sector out, 32
}

TEST(Throughput, L1TakesAsLongAsTheLongerOfItsStages) {
  // 32 bytes in one piece: 8 lines in 2 passes, 8 cycles of banks. 36 bytes: 9 lines in 3 passes, 1 cycle of banks.
  Place P;
  P.Stride = 32;
  double Banks = scoreOf(kernel(P, {{0, 1}})).Kernels[0].Parts.L1;
  P.Stride = 36;
  double Tags = scoreOf(kernel(P, {{0, 1}})).Kernels[0].Parts.L1;
  double PerWarp = Elements / 32 / h200().Sms, Rest = 1 + 1 + 0.8; // of the store, and per warp
  EXPECT_NEAR(Banks / PerWarp, 8 + Rest, 0.3);
  EXPECT_NEAR(Tags / PerWarp, 3 + Rest, 0.3);
}

/// Stores of \p Words words, \p Apart bytes from each other, to the element of thread i.
std::string storing(unsigned Words, unsigned Record, unsigned long Apart, unsigned Work = 0) {
  Place P;
  P.Stride = Record;
  std::string T = kernel(P, {}), Lines;
  for (unsigned I = 0; I < Work; ++I)
    Lines += "fma.rn.f32 %f1, %f1, %f1, %f1;\n";
  for (unsigned I = 0; I < Words; ++I)
    Lines += "st.global.f32 [%rd11+" + std::to_string(I * Apart) + "], %f1;\n";
  return T.replace(T.find("st.global"), T.find("DONE:\n") - T.find("st.global"), Lines);
}

TEST(Throughput, StoresPayForEachRequestWhereThePortIsBusy) {
  auto perWarp = [](const std::string &Text) { // packets
    return scoreOf(Text).Kernels[0].Parts.L2 * h200().Sms / (Elements / 32) / h200().StoreSectorCycles;
  };
  EXPECT_NEAR(perWarp(storing(8, 4, 4 * Elements)), 8 * 4, 1); // whole lines
  EXPECT_NEAR(perWarp(storing(8, 32, 4)), 8 * (32 + 8), 16);   // 8 lines each, of which all have a mask
  EXPECT_LT(perWarp(storing(4, 16, 4)), 0.6 * 4 * (16 + 4));   // 4 lines: most are merged
  EXPECT_NEAR(perWarp(storing(8, 32, 4, 4000)), 32, 4);        // other warps are busy elsewhere
}

TEST(Throughput, StoresWithDivisionsBetweenAreNotMerged) {
  std::string Text = storing(3, 16, 4);
  for (size_t At = Text.find("st.global"), Last = Text.rfind("st.global"); At != Last; Last = Text.rfind("st.global", Last - 1))
    Text.insert(Last, "sqrt.rn.f32 %f1, %f1;\n");
  auto perWarp = [](const std::string &Of) { // packets
    return scoreOf(Of).Kernels[0].Parts.L2 * h200().Sms / (Elements / 32) / h200().StoreSectorCycles;
  };
  EXPECT_NEAR(perWarp(Text), 3 * (16 + 4), 2); // an H200 writes 72 and 24 sectors for 48 and 16
  EXPECT_LT(perWarp(storing(3, 16, 4)), 30);
}

TEST(Throughput, FewSmsShareWhatAllHave) {
  Gpu G = h200();
  WarpDemand W;
  W.L2Sectors = 100;
  W.DramCycles = 1000;
  Terms All = waveTerms(W, {2, 2, 1}, 8, G), Few = waveTerms(W, {2, 0.1, 1}, 8, G);
  EXPECT_DOUBLE_EQ(All.Dram, 2 * 8 * 1000);
  EXPECT_DOUBLE_EQ(Few.Dram, All.Dram / 20);
  EXPECT_DOUBLE_EQ(Few.L2, 2 * 8 * 100 * 32 / 64.0); // the port of an SM
  W = {};
  W.StorePackets = 100;
  EXPECT_DOUBLE_EQ(waveTerms(W, {2, 0.1, 1}, 8, G).L2, 2 * 8 * 100);
}

TEST(Throughput, LaterBlocksFindTheTableInL1) {
  Place Table;
  Table.Uniform = 256;
  auto perWave = [&](int64_t Threads) {
    Terms T = scoreOf(aos(4, 28, Table), Threads).Kernels[0].Parts;
    return T.Latency / std::max(1.0, Threads / 32.0 / h200().MaxWarps / h200().Sms);
  };
  EXPECT_LT(perWave(Elements), 0.4 * perWave(65536)); // one wave: all is new
}

TEST(Throughput, ALaunchFindsNothingInL1) {
  // All blocks at a time, whose data the L1s would hold until the next launch.
  const int64_t Threads = int64_t(h200().Sms) * 4 * 256;
  const KernelCost K = scoreOf(soa(2), Threads).Kernels[0];
  ASSERT_EQ(K.Accesses.size(), 3u);
  EXPECT_EQ(K.Accesses[0].From.L1, 0);
  EXPECT_EQ(K.Accesses[0].From.L2, 1); // the launch before has left it there
}

TEST(Throughput, RandomAccessesFarApartWaitForTheTlb) {
  // 65,536 lines, which L2 holds, close together and over a gigabyte.
  auto Dram = [](unsigned Stride) {
    Place Gather;
    Gather.Gather = true;
    return scoreOf(aos(1, Stride, Gather), 1 << 16).Kernels[0].Parts.Dram;
  };
  const Gpu G = h200();
  const double Near = Dram(128), Far = Dram(16384), PerSm = std::ceil((1 << 16) / 256 / G.Sms) * 256;
  EXPECT_LT(Near, 0.7 * Far);
  EXPECT_NEAR(Far, PerSm * G.TranslationCycles * (1 - G.TlbBytes / (1 << 30)), 0.1 * Far);
}

/// while (k >= 0) { s += p[k].x + ...; k = s < 0 ? p[k].next : p[k].child; } with a thread's own s; \p Fields lie
/// so many bytes from p[k].next.
static std::string treeWalk(const std::vector<uint64_t> &Fields, unsigned Stride, const std::string &GoesOn = "setp.ge.s32 %p2, %r1, 0;\n") {
  std::string Loads;
  for (size_t I = 0; I < Fields.size(); ++I)
    Loads += "ld.global.f32 %f" + std::to_string(I + 1) + ", [%rd6+" + std::to_string(Fields[I]) + "];\nadd.f32 %f20, %f20, %f" +
             std::to_string(I + 1) + ";\nsetp.lt.f32 %p1, %f20, 0f00000000;\n";
  return R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u64 k_param_2, .param .u32 k_param_3)
{
.reg .pred %p<5>;
.reg .f32 %f<30>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [k_param_0];
cvta.to.global.u64 %rd2, %rd1;
mov.u32 %r4, %ctaid.x;
mov.u32 %r5, %ntid.x;
mov.u32 %r6, %tid.x;
mad.lo.s32 %r7, %r4, %r5, %r6;
mul.wide.s32 %rd3, %r7, 4;
ld.param.u64 %rd4, [k_param_1];
add.s64 %rd4, %rd4, %rd3;
ld.global.f32 %f20, [%rd4];
mov.u32 %r1, 0;
LOOP:
mul.wide.u32 %rd5, %r1, )" + std::to_string(Stride) + R"(;
add.s64 %rd6, %rd2, %rd5;
)" + Loads + "ld.global.u32 %r2, [%rd6];\nld.global.u32 %r3, [%rd6+" + std::to_string(Fields[0]) + R"(];
selp.b32 %r1, %r2, %r3, %p1;
)" + GoesOn + R"(@%p2 bra LOOP;
ld.param.u64 %rd7, [k_param_2];
st.global.f32 [%rd7], %f20;
ret;
}
)";
}

TEST(Throughput, WalksLikeRecordsInOnePiece) {
  // Of a record each field comes with the first one; of arrays each is a sector of its own that no neighbour needs.
  KernelCost Records = scoreOf(treeWalk({4, 8, 12, 16, 20}, 32), 1 << 18).Kernels[0];
  KernelCost Arrays = scoreOf(treeWalk({1 << 24, 2 << 24, 3 << 24, 4 << 24, 5 << 24}, 4), 1 << 18).Kernels[0];
  EXPECT_GT(Arrays.L2Bytes, 3 * Records.L2Bytes);
  EXPECT_GT(Arrays.Cycles, 1.2 * Records.Cycles);
  EXPECT_TRUE(llvm::is_contained(Records.Notes, "where a loop goes on is loaded: the steps of its walk are taken as random"));
}

TEST(Throughput, AChainIsAWalkWhereverItEnds) {
  // At the element that the thread began with: links may lead anywhere, and are no indices that somebody sorted.
  llvm::Expected<ptx::Module> M = ptx::parse(treeWalk({4, 8}, 32, "setp.ne.s32 %p2, %r1, %r7;\n"));
  ASSERT_TRUE(bool(M)) << llvm::toString(M.takeError());
  KernelLaunch L = launch(1 << 22);
  const double Random = throughputCost(*M, *M->find("k"), L, h200(), nullptr).Cycles;
  L.Facts.Orders.clear();
  EXPECT_DOUBLE_EQ(throughputCost(*M, *M->find("k"), L, h200(), nullptr).Cycles, Random);
}

TEST(Throughput, AtomicsOnOneSectorMoveItOnce) {
  // Three counters of random records, which DRAM holds: beside each other, or in arrays of their own.
  auto dram = [](const std::string &Second, const std::string &Third) {
    std::string T = kernel({.Stride = 32, .Gather = true}, {});
    return scoreOf(T.insert(T.find("st.global"), "red.global.add.u32 [%rd11], 1;\nred.global.add.u32 [%rd11+" + Second +
                                                     "], 1;\nred.global.add.u32 [%rd11+" + Third + "], 1;\n"))
        .Kernels[0].Parts.Dram;
  };
  EXPECT_GT(dram("1073741824", "2147483648"), 2 * dram("4", "8")) << "2.5 for four, by an H200";
}

TEST(Throughput, IndicesKnownToBeScatteredAreNoGuess) {
  Place Gather;
  Gather.Gather = true;
  llvm::Expected<ptx::Module> M = ptx::parse(soa(8, Gather));
  ASSERT_TRUE(bool(M)) << llvm::toString(M.takeError());
  KernelLaunch L = launch(Elements);
  auto Cycles = [&] { return throughputCost(*M, *M->find("k"), L, h200(), nullptr).Cycles; };
  const double Random = Cycles();
  L.Facts.Orders.clear();
  EXPECT_LT(Cycles(), 0.9 * Random);
  L.Facts.Scatters = true;
  EXPECT_DOUBLE_EQ(Cycles(), Random);
}

TEST(Throughput, NarrowUnitsTakeLonger) {
  // 16 lanes of popc a cycle, 64 of add, 128 of a sum of floats.
  double Popc = scoreOf(with("popc.b32 %r6, %r6;", 1000)).Kernels[0].Parts.Issue;
  double Add = scoreOf(with("add.s32 %r6, %r6, %r5;", 1000)).Kernels[0].Parts.Issue;
  double Float = scoreOf(with("add.f32 %f1, %f1, %f2;", 1000)).Kernels[0].Parts.Issue;
  EXPECT_NEAR(Popc / Float, 8, 0.3);
  EXPECT_NEAR(Add / Float, 2, 0.2);
}

TEST(Throughput, TermsJoinByThePNorm) {
  EXPECT_DOUBLE_EQ(join({3, 4, 0, 0, 0}, 2), 5);
  EXPECT_EQ(boundBy({1, 2, 5, 3, 4}), "l2");
}

TEST(Throughput, ATinyLaunchScores) {
  EXPECT_GT(scoreOf(soa(1), 256).total(), 0);
  EXPECT_GT(scoreOf(aos(8, 32), 512).total(), 0);
}

TEST(Thesis, CountsOneWarp) {
  llvm::Expected<ptx::Module> M = ptx::parse(soa(1));
  ASSERT_TRUE(bool(M)) << llvm::toString(M.takeError());
  llvm::Expected<Gpu> G = loadGpu("gtx980");
  ASSERT_TRUE(bool(G)) << llvm::toString(G.takeError());
  llvm::Expected<Score> S = score(*M, launch(Elements), {}, *G, Model::Thesis);
  ASSERT_TRUE(bool(S)) << llvm::toString(S.takeError());
  // A coalesced miss, a store, and 23 other instructions at 6 cycles.
  EXPECT_DOUBLE_EQ(S->Cycles, 544 + 9 + 6 * 21.0);
}

/// Adds the first field to all of them.
std::string updated(unsigned Fields) {
  std::string Text = soa(Fields), Stores;
  for (unsigned F = 0; F < Fields; ++F)
    Stores += "st.global.f32 [%rd11+" + std::to_string(4 * Elements * F) + "], %f" + std::to_string(F + 2) + ";\n";
  const std::string Sum = "st.global.f32 [%rd8], %f1;\n";
  return Text.replace(Text.find(Sum), Sum.size(), Stores);
}

// An H100 updates 16 arrays at 0.94 of the rate of tiles, 32 at 0.92, and reads 32 of them at 0.98.
TEST(Throughput, DramTurnsAroundBetweenManyArrays) {
  auto dram = [](const std::string &Text, unsigned Fields) { return scoreOf(Text).Kernels[0].Parts.Dram / Fields; };
  EXPECT_NEAR(dram(updated(16), 16) / dram(updated(2), 2), 1 / 0.95, 0.01);
  EXPECT_NEAR(dram(updated(32), 32) / dram(updated(2), 2), 1 / 0.93, 0.01);
  EXPECT_NEAR(dram(soa(32), 33) / dram(soa(1), 2), 1, 0.01);
}

// One thread of each block stores two bytes: sixteen blocks fill a sector, those behind the edge of what is looked at too.
TEST(Throughput, StoresOfOneThreadABlockTakeTime) {
  const std::string Text = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u64 k_param_2, .param .u32 k_param_3)
{
.reg .pred %p<2>;
.reg .b16 %rs<2>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [k_param_0];
ld.param.u64 %rd5, [k_param_1];
cvta.to.global.u64 %rd2, %rd1;
cvta.to.global.u64 %rd6, %rd5;
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %tid.x;
mov.u32 %r3, %ntid.x;
mad.lo.s32 %r4, %r1, %r3, %r2;
mul.wide.s32 %rd7, %r4, 4;
add.s64 %rd8, %rd6, %rd7;
ld.global.u32 %r5, [%rd8];
setp.ne.s32 %p1, %r2, 32;
@%p1 bra DONE;
mul.wide.s32 %rd3, %r1, 2;
add.s64 %rd4, %rd2, %rd3;
cvt.u16.u32 %rs1, %r5;
st.global.u16 [%rd4], %rs1;
DONE:
ret;
}
)";
  std::string Without = Text;
  const size_t Store = Without.find("st.global");
  Without.erase(Store, Without.find(';', Store) + 1 - Store);
  for (int64_t Blocks : {81600, 81616, 131072}) // how the middle of the grid lies to sectors
    EXPECT_GE(scoreOf(Text, Blocks * 256).Kernels.front().Parts.Dram, scoreOf(Without, Blocks * 256).Kernels.front().Parts.Dram) << Blocks;
}

} // namespace
