// Sectors of many warps, and where their loads hit.
#include "PtxKernels.h"
#include "analysis/cost/Atomics.h"
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
    Facts.Grid = {uint32_t(N / 256), 1, 1};
    Facts.Block = {256, 1, 1};
    Facts.Arguments = {std::nullopt, std::nullopt, std::nullopt, N};
    Facts.Elements = N;
    Kernel.emplace(f());
    Runner.emplace(*Kernel, Facts);
    llvm::Expected<Gpu> Profile = loadGpu("h200");
    if (!Profile) {
      ADD_FAILURE() << llvm::toString(Profile.takeError());
      return;
    }
    G = *Profile;
  }
  const ptx::Function &f() const { return M.Functions[0]; }
  Reuse reuse(const ptx::ExecuteLimits &Limits = {}) const { return simulate(f(), sample(*Kernel, *Runner), *Runner, G, 8, 1, Limits); }
  /// Of \p Launches on the same data.
  DramTraffic dram(double Launches = 1, const ptx::ExecuteLimits &Limits = {}) const {
    return dramTraffic(f(), *Runner, sample(*Kernel, *Runner), reuse(Limits), G, Facts, Launches, Limits);
  }

  ptx::Module M;
  ptx::LaunchFacts Facts;
  std::optional<Code> Kernel;
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
    WarpFootprint Executed = K.Runner->footprint(Block, I % 8, {});
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

/// Each thread reads a word of its own, and then \p Store.
double conflicts(const std::string &Store) {
  Launched K(threads("mul.wide.s32 %rd2, %r1, 8;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.f32 %f1, [%rd3];\n" + Store));
  const Reuse R = K.reuse();
  double Sum = 0, Warps = 8 * 8;
  for (const AccessReuse &A : R.PerInstruction)
    Sum += A.ConflictSectors;
  return Sum / Warps;
}

TEST(Reuse, AStoreToALineThatIsBeingFetchedIsCounted) {
  EXPECT_EQ(conflicts("st.global.f32 [%rd3], 0f3F800000;\n"), 8) << "it does not wait for what is read";
  EXPECT_EQ(conflicts("st.global.f32 [%rd3+4], 0f3F800000;\n"), 8) << "the same line";
  EXPECT_EQ(conflicts("st.global.f32 [%rd3], %f1;\n"), 0);
  EXPECT_EQ(conflicts("st.global.f32 [%rd3+1099511627776], 0f3F800000;\n"), 0) << "another array";
  EXPECT_EQ(conflicts("st.global.f32 [%rd3], 0f3F800000;\nst.global.f32 [%rd3+4], 0f3F800000;\n"), 8) << "one of them waits";
  // Nothing is stored before it is known whether it shall be.
  EXPECT_EQ(conflicts("setp.gt.f32 %p2, %f1, 0f47CE4780;\n@%p2 bra $past;\nst.global.f32 [%rd3], 0f3F800000;\n$past:\n"), 0);
}

/// A warp's conflicts by where the lines come from, of a kernel whose threads have \p Bytes each.
std::pair<double, double> conflictsOf(unsigned Bytes, const std::string &Body) {
  Launched K(threads("mul.wide.s32 %rd2, %r1, " + std::to_string(Bytes) + ";\nadd.s64 %rd3, %rd1, %rd2;\nmul.wide.s32 %rd4, %r1, 4;\n" + Body));
  const Reuse R = K.reuse();
  std::pair<double, double> Sum;
  for (const AccessReuse &A : R.PerInstruction)
    Sum.first += A.ConflictSectors / 64, Sum.second += A.NearConflictSectors / 64;
  return Sum;
}

TEST(Reuse, AStoreRightBehindALoadOfItsLineIsCounted) {
  // x += 1; y = other array + y, in records of 128 bytes: y is asked for just before x is stored.
  auto body = [](const std::string &Y, const std::string &Other) {
    return "ld.global.f32 %f1, [%rd3];\nadd.f32 %f2, %f1, %f1;\nst.global.f32 [%rd3], %f2;\nld.global.f32 %f3, [%rd3+" + Y + "];\n" +
           Other + "add.f32 %f5, %f3, %f4;\nst.global.f32 [%rd3+" + Y + "], %f5;\n";
  };
  const std::string Other = "add.s64 %rd5, %rd1, %rd4;\nld.global.f32 %f4, [%rd5+1099511627776];\n";
  EXPECT_NEAR(conflictsOf(128, body("64", Other)).first, 32 * 1.6, 1e-6);
  EXPECT_EQ(conflictsOf(128, body("64", "")).first, 0) << "nothing keeps y back: it comes with x";
  EXPECT_EQ(conflictsOf(128, body("128", Other)).first, 0) << "the next line";
  const auto [Far, Near] = conflictsOf(128, body("32", Other));
  EXPECT_EQ(Far, 0) << "the granule was fetched with x";
  EXPECT_GT(Near, 0);
  EXPECT_EQ(conflictsOf(128, body("4", Other)), std::pair(0.0, 0.0)) << "L1 has the sector";
}

TEST(Reuse, AStoreBehindARootMeetsTheLoadsThatFollowIt) {
  // x = sqrt(other array); y is read then, as ptxas has it before: nothing is moved past the root.
  auto body = [](const std::string &Y, const std::string &Then) {
    return "add.s64 %rd5, %rd1, %rd4;\nld.global.f32 %f1, [%rd5+1099511627776];\nsqrt.rn.f32 %f2, %f1;\nst.global.f32 [%rd3], %f2;\nld.global.f32 %f3, [%rd3+" +
           Y + "];\n" + Then;
  };
  const std::string Elsewhere = "st.global.f32 [%rd5+2199023255552], %f3;\n";
  EXPECT_NEAR(conflictsOf(128, body("4", Elsewhere)).first, 32 * 1.6, 1e-6) << "what is stored does not bring the rest of its sector";
  EXPECT_NEAR(conflictsOf(128, body("64", Elsewhere)).first, 32 * 1.6, 1e-6);
  EXPECT_EQ(conflictsOf(256, body("128", Elsewhere)).first, 0) << "the next line";
  EXPECT_NEAR(conflictsOf(128, body("64", "sqrt.rn.f32 %f4, %f3;\nst.global.f32 [%rd3+64], %f4;\n")).first, 32 * 1.6, 1e-6)
      << "the store of y waits for y";
}

TEST(Reuse, LoadsPassAStoreThatNeedNotWait) {
  // found = -1; if (noise > limit) return; as ptxas has it, the noise is asked for first
  const std::string Store = "st.global.b32 [%rd3+8], -1;\n", Out = "add.s64 %rd5, %rd1, %rd4;\nst.global.f32 [%rd5+1099511627776], %f3;\n";
  EXPECT_EQ(conflictsOf(16, Store + "ld.global.f32 %f3, [%rd3+12];\n" + Out).first, 16);
  EXPECT_EQ(conflictsOf(64, Store + "ld.global.f32 %f3, [%rd3+40];\n" + Out).first, 32) << "in another sector of the line";
  EXPECT_EQ(conflictsOf(16, Store + "ld.global.f32 %f3, [%rd3+8];\n" + Out).first, 0) << "what was stored";
  EXPECT_EQ(conflictsOf(16, Store + "mul.wide.s32 %rd6, %r2, 16;\nadd.s64 %rd7, %rd1, %rd6;\nld.global.f32 %f3, [%rd7+12];\n" + Out).first, 0)
      << "it may be what was stored";
}

TEST(Reuse, SectorsThatAreWrittenAsAWholeCountMore) {
  EXPECT_EQ(conflictsOf(8, "ld.global.v2.f32 {%f1, %f2}, [%rd3];\nst.global.v2.f32 [%rd3], {%f9, %f9};\n").first, 8 * 3.5);
}

TEST(Reuse, AFewSectorsHoldBackAsMuchAsALine) {
  llvm::Expected<Gpu> G = loadGpu("h200");
  ASSERT_TRUE(bool(G));
  const double Least = G->DramLatency / 3 / G->ConflictSectorCycles;
  EXPECT_NEAR(conflictsOf(4, "and.b32 %r5, %r4, 31;\nsetp.ne.s32 %p1, %r5, 0;\n@%p1 bra $past;\nld.global.f32 %f1, [%rd3];\nst.global.f32 [%rd3], 0f3F800000;\n$past:\n").first, Least, 1e-6) << "one lane";
  EXPECT_NEAR(conflictsOf(32, "and.b32 %r5, %r4, 3;\nsetp.ne.s32 %p1, %r5, 0;\n@%p1 bra $past;\nld.global.f32 %f1, [%rd3];\nst.global.f32 [%rd3], 0f3F800000;\n$past:\n").first, 8, 1e-6) << "more than a line's";
}

TEST(Reuse, TheLastOfSeveralRowsIsLate) {
  auto spread = [](uint64_t Apart) {
    std::string Body = "mul.wide.s32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n";
    for (unsigned I = 0; I < 4; ++I)
      Body += "ld.global.f32 %f" + std::to_string(I) + ", [%rd3+" + std::to_string(I * Apart) + "];\n";
    Launched K(threads(Body));
    AccessReuse A = loadOf(K, K.reuse(), 1);
    return A.Spread / (A.Waits[2] + A.Waits[3]);
  };
  EXPECT_NEAR(spread(1 << 30), 1, 0.02) << "the expected largest of four normal numbers is 1.03";
  EXPECT_EQ(spread(4), 0) << "neighbours";
  EXPECT_GT(spread(512), 0.3);
  EXPECT_LT(spread(512), spread(4096));
}

TEST(Reuse, SomeWarpsTellWhatLongLoopsFind) {
  // Each thread reads 512 bytes of its own, a word at a time: of 8 words in a sector 7 hit, if it stays.
  const std::string Chunks = threads("mul.wide.s32 %rd2, %r1, 512;\nadd.s64 %rd3, %rd1, %rd2;\nmov.u32 %r5, 0;\nLOOP:\nld.global.f32 %f1, [%rd3];\n"
                                     "add.f32 %f9, %f9, %f1;\nadd.s64 %rd3, %rd3, 4;\nadd.s32 %r5, %r5, 1;\nsetp.lt.s32 %p1, %r5, 64;\n@%p1 bra LOOP;\n"
                                     "st.global.f32 [%rd1], %f9;\n");
  Launched K(Chunks, 1 << 20);
  ptx::ExecuteLimits Short;
  Short.MaxRequests = 12; // of 65
  const Reuse R = K.reuse(Short);
  EXPECT_GT(R.Limits.MaxRequests, 40u);
  auto missed = [&](const Reuse &R) { return loadOf(K, R, 0).MissSectors / loadOf(K, R, 0).Requests; };
  EXPECT_NEAR(missed(R) / missed(K.reuse()), 1, 0.3);
}

TEST(Dram, LaterTripsFindWhatTheFirstFetched) {
  // All threads of a warp read the same 64 KB, a line of each 128 at first, and all warps do: they are not apart.
  const std::string Columns = threads("and.b32 %r6, %r4, 31;\nmul.wide.u32 %rd2, %r6, 128;\nmul.wide.u32 %rd4, %r2, 4096;\nadd.s64 %rd3, %rd1, %rd2;\n"
                                      "add.s64 %rd3, %rd3, %rd4;\nmov.u32 %r5, 0;\nLOOP:\nld.global.f32 %f1, [%rd3];\nadd.f32 %f9, %f9, %f1;\n"
                                      "add.s64 %rd3, %rd3, 4;\nadd.s32 %r5, %r5, 1;\nsetp.lt.s32 %p1, %r5, 32;\n@%p1 bra LOOP;\n"
                                      "st.global.f32 [%rd1], %f9;\n");
  Launched K(Columns);
  ptx::ExecuteLimits Short;
  Short.MaxRequests = 8; // of 33
  const double Whole = K.dram().Regular.ReadBytes, Cut = K.dram(1, Short).Regular.ReadBytes;
  EXPECT_NEAR(Cut / Whole, 1, 0.3);
}

/// Share of the busiest slice where a thousand blocks of 256 run at a time.
double busiest(const std::string &Body) {
  Launched K(threads(Body));
  return busiestSlice(K.f(), *K.Runner, 1056);
}

TEST(Atomics, NeighbouringBlocksMeetAtATime) {
  // All of 2^Shift threads in a row add to one word.
  auto shared = [](unsigned Shift) {
    return busiest("shr.u32 %r5, %r1, " + std::to_string(Shift) + ";\nmul.wide.u32 %rd2, %r5, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
                   "red.global.add.u32 [%rd3], 1;\n");
  };
  EXPECT_EQ(shared(25), 1);
  EXPECT_NEAR(shared(8), busiestSliceInPassing(1056 * 4 / 128), 0.03) << "one word after the other";
  EXPECT_LT(shared(5), busiestSliceInPassing(200));
  EXPECT_EQ(busiest("st.global.u32 [%rd1], %r1;\n"), 0);
}

TEST(Atomics, SumsOfFloatsWaitForTheOneBefore) {
  // Lanes add to 2^Shift words in a row, the same for all warps: 98.7 and 12.4 cycles were measured for a word and for eight, 1.55 an operation,
  // and 41.1 and 4.1 for integers.
  auto cycles = [](unsigned Words, const std::string &Type, unsigned Operations) {
    return busiest("and.b32 %r5, %r1, " + std::to_string(Words - 1) + ";\nmul.wide.u32 %rd2, %r5, 4;\nadd.s64 %rd3, %rd1, %rd2;\n" +
                   (Type == "f32" ? "red.global.add.f32 [%rd3], 0f3F800000;\n" : "red.global.add.u32 [%rd3], %r1;\n")) * Operations * 1.55;
  };
  EXPECT_NEAR(cycles(1, "f32", 32), 98.7, 5);
  EXPECT_NEAR(cycles(8, "f32", 4), 12.4, 1);
  EXPECT_NEAR(cycles(8, "u32", 4), 4.1, 2.5);
}

TEST(Atomics, AFewOfOneArrayMeetBesideManyOfAnother) {
  // 32 lines of its own, and one of a counter that is always the same.
  const std::string Own = "mul.wide.u32 %rd2, %r1, 128;\nadd.s64 %rd3, %rd1, %rd2;\nred.global.add.u32 [%rd3], 1;\n",
                    Counter = "add.s64 %rd4, %rd1, 1099511627776;\nred.global.add.u32 [%rd4], 1;\n";
  const double Mean = busiest(Own);
  EXPECT_NEAR(busiest(Own + Counter), Mean + (1 - Mean) / 33, 1e-9);
}

TEST(Sampling, FindsTheBlocksThatHaveSomethingToDo) {
  // A triangle of a grid of 256 x 256 blocks: those from the middle of it on in this row return.
  const Launched Triangle(threads("mov.u32 %r5, %ctaid.x;\nshr.u32 %r6, %r5, 8;\nand.b32 %r7, %r5, 255;\nsetp.lt.u32 %p2, %r7, %r6;\n@%p2 bra $leave;\n"
                                  "ld.global.f32 %f1, [%rd1];\n$leave:\n"), 1 << 24);
  const Sample S = sample(*Triangle.Kernel, *Triangle.Runner);
  EXPECT_GT(S.RequestsPerWarp, 0.1);
  EXPECT_LT(S.RequestsPerWarp, 1);
}

TEST(Reuse, RequestsToL2AreOfOneLineEach) {
  Launched Stream(kernel({.Stride = 4}, {{0, 1}})), Sparse(kernel({.Stride = 128}, {{0, 1}}));
  EXPECT_EQ(loadOf(Stream, Stream.reuse(), 0).MissLines, 64);
  EXPECT_EQ(loadOf(Stream, Stream.reuse(), 0).MissSectors, 4 * 64);
  EXPECT_EQ(loadOf(Sparse, Sparse.reuse(), 0).MissLines, 32 * 64);
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
  auto missed = [&](unsigned TileShift) { return Launched(gather(TileShift), N).dram().Random.MissShare; };
  EXPECT_LT(missed(4), 0.15);
  EXPECT_LT(missed(7), 0.25);                 // runs of four lines
  EXPECT_NEAR(missed(0), 0.82, 0.05);         // records: all granules of 128 MB
  EXPECT_LT(missed(3), missed(0) - 0.3);      // a granule of every second line
}

TEST(Dram, RandomLinesOfSeveralFieldsCountEach) {
  // Fields 0, 5 and 7 of tiles of 32 records of 9, 128 bytes each: three lines of nine.
  const Gpu G = Launched(kernel({}, {{0, 1}})).G;
  WarpFootprint W;
  for (unsigned K = 0; K < 1000; ++K)
    for (unsigned Field : {0, 5, 7}) {
      RequestFootprint R;
      R.First = uint32_t(W.Touches.size()), R.Count = 1, R.Random = true;
      W.Requests.push_back(R);
      W.Touches.push_back({scattered(K) % 131072 * 36 + Field * 4 + scattered(K + 5000) % 4, ~0u});
    }
  RandomLines Lines(G);
  Lines.add(W);
  const RandomLines::Touched T = Lines.touched();
  EXPECT_NEAR(T.Bytes / Lines.span(), 1 / 3.0, 0.02);
  EXPECT_NEAR(T.GranulesPerLine, 2, 0.05);
}

TEST(Dram, RandomLinesOfPlanesAreThoseOfOneDraw) {
  // Six records of 32 words, each in a plane of 2 MB, 125 times 125 lines: warps read a record, or lanes one each.
  const Gpu G = Launched(kernel({}, {{0, 1}})).G;
  auto touched = [&](unsigned Lanes, unsigned Planes) {
    WarpFootprint W;
    for (unsigned K = 0; K < 6; ++K)
      for (unsigned Plane = 0; Plane < 32; Plane += Planes) {
        RequestFootprint R;
        R.First = uint32_t(W.Touches.size()), R.Count = 32, R.Random = true;
        W.Requests.push_back(R);
        for (unsigned L = 0; L < 32; ++L)
          W.Touches.push_back({scattered(K * Lanes + L % Lanes) % 62500 + (Plane + L / Lanes) * 62500, ~0u});
        llvm::sort(W.Touches.end() - 32, W.Touches.end(), [](const SectorTouch &A, const SectorTouch &B) { return A.Sector < B.Sector; });
      }
    RandomLines Lines(G);
    Lines.add(W);
    return Lines.touched().Bytes / Lines.span();
  };
  EXPECT_DOUBLE_EQ(touched(1, 32), 1);
  EXPECT_DOUBLE_EQ(touched(32, 1), 1);
}

TEST(Reuse, NothingHitsWithoutL1) {
  Launched K(kernel({.Stride = 32}, {{0, 1}, {4, 1}}));
  K.G.L1Bytes = 0;
  EXPECT_EQ(loadOf(K, K.reuse(), 1).MissSectors, 32 * 64);
  Launched Uniform(threads("ld.global.f32 %f1, [%rd1];\nld.global.f32 %f2, [%rd1+4];\n"));
  Uniform.G.L1Bytes = 0;
  EXPECT_EQ(loadOf(Uniform, Uniform.reuse(), 1).MissSectors, 64) << "not even what was loaded last";
}

TEST(Dram, AStreamMovesItsBytes) {
  DramTraffic D = Launched(kernel({.Stride = 4}, {{0, 1}})).dram();
  EXPECT_DOUBLE_EQ(D.Regular.ReadBytes, 128);
  EXPECT_DOUBLE_EQ(D.Regular.WriteBytes, 128);
  EXPECT_GT(D.Regular.MissShare, 0.99);
  EXPECT_LT(D.Regular.ReadScatter, 0.01);
  EXPECT_EQ(D.Random.LoadGranules, 0);
}

TEST(Dram, ArraysAreRegionsOfTheirOwn) {
  EXPECT_EQ(Launched(kernel({.Stride = 4}, {{0, 1}})).dram().Regular.Regions, 2) << "in and out";
  EXPECT_EQ(Launched(kernel({.Stride = 32}, {{0, 1}, {4, 1}, {8, 1}})).dram().Regular.Regions, 2) << "fields of records";
  EXPECT_EQ(Launched(kernel({.Stride = 4, .Plane = 1 << 27}, {{0, 1}, {4, 1}, {8, 1}})).dram().Regular.Regions, 4);
}

TEST(Dram, AFieldOfARecordFetchesItsGranules) {
  EXPECT_NEAR(Launched(kernel({.Stride = 64}, {{0, 1}})).dram().Regular.ReadBytes, 32 * 64, 0.01);
  EXPECT_NEAR(Launched(kernel({.Stride = 128}, {{0, 1}})).dram().Regular.ReadBytes, 32 * 64, 0.01);
}

TEST(Dram, ASmallArrayIsReadOnce) {
  DramTraffic D = Launched(kernel({.Stride = 16, .Uniform = 1024}, {{0, 4}}), 1 << 18).dram();
  EXPECT_LT(D.Regular.MissShare, 0.01);
  EXPECT_LT(D.Regular.ReadBytes, 16) << "16 KB among all warps";
}

TEST(Dram, AnArrayAboutAsLargeAsL2IsPartlyFetchedAgain) {
  auto readAgain = [](int64_t N, unsigned Stride) {
    return Launched(kernel({.Stride = Stride}, {{0, 1}}), N).dram(1000).Regular.ReadBytes / (32 * 4);
  };
  // Read and written, each: of 16 MB all stays, of 42 about half, of 128 nothing.
  EXPECT_LT(readAgain(2 << 20, 4), 0.02);
  EXPECT_NEAR(readAgain(11 << 19, 4), 0.5, 0.2);
  EXPECT_GT(readAgain(16 << 20, 4), 0.98);
  // One word of each 128 bytes takes a line of L2, and two granules are no less than one.
  EXPECT_GT(readAgain(1 << 19, 128), 8) << "64 MB of lines, 32 MB of granules";
}

TEST(Dram, ALoopThatIsCutShortReachesAsFarAsItRuns) {
  // In a grid-stride loop a thread reads every millionth word, 4,096 times: 16 GB, of which a few trips are executed.
  const std::string Loop = threads("mov.u32 %r5, 0;\nmul.wide.s32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n$again:\n"
                                   "ld.global.f32 %f1, [%rd3];\nadd.s64 %rd3, %rd3, 4194304;\nadd.s32 %r5, %r5, 1;\n"
                                   "setp.lt.s32 %p2, %r5, 4096;\n@%p2 bra $again;\n");
  const RegularTraffic D = Launched(Loop, 1 << 20).dram(100).Regular;
  EXPECT_GT(D.MissShare, 0.99);
  EXPECT_NEAR(D.ReadBytes, 4096 * 128, 4096);
}

TEST(Dram, ALoopThatGoesToAndFroReachesNoFarther) {
  // 4,096 trips between two places a megabyte apart.
  const std::string Loop = threads("mov.u32 %r5, 0;\nmul.wide.s32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n$again:\n"
                                   "and.b32 %r6, %r5, 1;\nmul.wide.s32 %rd4, %r6, 1048576;\nadd.s64 %rd5, %rd3, %rd4;\n"
                                   "ld.global.f32 %f1, [%rd5];\nadd.s32 %r5, %r5, 1;\n"
                                   "setp.lt.s32 %p2, %r5, 4096;\n@%p2 bra $again;\n");
  Launched K(Loop, 1 << 20);
  const ptx::WarpTrace T = K.Runner->run(0, 0, {});
  for (const Reach &R : unseenReach(K.Kernel->Flow, T, LoopSteps(T), K.f().Body.size()))
    EXPECT_EQ(R.Below + R.Above, 0);
}

TEST(Dram, ALoopWithoutEndReachesNoOtherArray) {
  // 2^40 trips of a megabyte each.
  const std::string Loop = threads("mov.u64 %rd4, 0;\nmul.wide.s32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n$again:\n"
                                   "ld.global.f32 %f1, [%rd3];\nadd.s64 %rd3, %rd3, 1048576;\nadd.s64 %rd4, %rd4, 1;\n"
                                   "setp.lt.s64 %p2, %rd4, 1099511627776;\n@%p2 bra $again;\n");
  Launched K(Loop, 1 << 20);
  const ptx::WarpTrace T = K.Runner->run(0, 0, {});
  double Above = 0;
  for (const Reach &R : unseenReach(K.Kernel->Flow, T, LoopSteps(T), K.f().Body.size())) {
    EXPECT_EQ(R.Below, 0);
    Above = std::max(Above, R.Above);
  }
  EXPECT_GT(Above, double(1ull << 36));
  EXPECT_LE(Above, double(1ull << 39));
}

TEST(Dram, GranulesFarApartAreAloneInTheirRows) {
  auto scatter = [](unsigned Stride) { return Launched(kernel({.Stride = Stride}, {{0, 1}})).dram().Regular.ReadScatter; };
  EXPECT_LT(scatter(64), 0.01);
  EXPECT_NEAR(scatter(128), 0.25, 0.02);
  EXPECT_GT(scatter(1024), 0.8);
  // All fields of large records together leave no gaps.
  EXPECT_NEAR(Launched(kernel({.Stride = 128}, {{0, 1}, {64, 1}})).dram().Regular.ReadScatter, 0, 0.02);
}

/// Each thread stores a word, of \p Words, of its own \p Stride bytes.
Launched stores(unsigned Stride, std::initializer_list<unsigned> Words) {
  std::string Body = "mul.wide.s32 %rd2, %r1, " + std::to_string(Stride) + ";\nadd.s64 %rd3, %rd1, %rd2;\n";
  for (unsigned Word : Words)
    Body += "st.global.f32 [%rd3+" + std::to_string(4 * Word) + "], %f1;\n";
  return Launched(threads(Body), 1 << 24);
}

TEST(Dram, ALineTakesAsLongHoweverLittleOfItIsWritten) {
  const Gpu G = stores(4, {0}).G;
  const double Stream = SectorBytes / G.DramBytesPerCycle;
  auto cycles = [](const Launched &K) { return K.dram().Regular.SectorWriteCycles; };
  EXPECT_NEAR(cycles(stores(4, {0})), Stream, 0.05);
  EXPECT_NEAR(cycles(stores(64, {0})), 2 * Stream, 0.05);
  EXPECT_NEAR(cycles(stores(128, {0})), 4 * Stream, 0.05);
  EXPECT_NEAR(cycles(stores(128, {0, 8, 16, 24})), Stream, 0.05);
  EXPECT_NEAR(cycles(stores(256, {0})), G.WriteBackCycles, 0.05);
  EXPECT_NEAR(cycles(stores(256, {0, 8})), G.WriteBackCycles / 2, 0.05);
  EXPECT_GT(G.WriteBackCycles, 5 * Stream);
}

TEST(Dram, SectorsWrittenInPartAreReadFirst) {
  auto fill = [](const Launched &K) { return K.dram().Regular.FillShare; };
  EXPECT_NEAR(fill(stores(32, {0})), 1, 0.01);
  EXPECT_NEAR(fill(stores(8, {0, 1})), 0, 0.01) << "by two stores";
  EXPECT_NEAR(fill(stores(64, {0, 1, 2, 3, 4, 5, 6, 7, 8})), 0.5, 0.01) << "one sector of two";
  Launched Loaded(threads("mul.wide.s32 %rd2, %r1, 32;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.f32 %f1, [%rd3+4];\n"
                          "st.global.f32 [%rd3], %f1;\n"), 1 << 24);
  EXPECT_EQ(fill(Loaded), 0) << "it is there";
}

TEST(Dram, AWholeRecordThatIsGatheredOpensOneRow) {
  auto scatter = [](const std::vector<Load> &Fields) {
    return Launched(kernel({.Stride = 512, .Gather = true}, Fields)).dram().Random.LoadScatter;
  };
  EXPECT_GT(scatter({{0, 1}}), 0.95);
  EXPECT_NEAR(scatter({{0, 1}, {64, 1}, {128, 1}, {192, 1}}), 0.25, 0.05);
  EXPECT_GT(scatter({{0, 1}, {256, 1}}), 0.6);
}

TEST(Dram, GathersFetchAGranulePerLane) {
  Launched Gather(kernel({.Stride = 4, .Gather = true}, {{0, 1}}));
  DramTraffic D = Gather.dram();
  EXPECT_NEAR(D.Random.LoadGranules, 32, 0.5);
  EXPECT_NEAR(D.Random.LoadSectors, 32, 0.5);
  EXPECT_NEAR(D.Random.MissShare, 0.82, 0.05) << "as counted on an H200";
  EXPECT_DOUBLE_EQ(D.Regular.ReadBytes, 128) << "the indices themselves";
}

TEST(Dram, AGatherFromASmallTableStaysInL2) {
  Launched K(kernel({.Stride = 4, .Gather = true}, {{0, 1}}));
  K.Facts.Elements = 1 << 20;
  EXPECT_LT(K.dram().Random.MissShare, 0.001);
}

TEST(Dram, L2HoldsLinesAndFetchesGranules) {
  // Counted on an H200: of 4 bytes of each line, and of any word, at so many megabytes.
  const std::tuple<double, double, double> Missed[] = {
      {24, 0, 0}, {40, 0.16, 0.27}, {48, 0.26, 0.42}, {64, 0.42, 0.60}, {96, 0.60, 0.75}, {128, 0.70, 0.82}, {256, 0.85, 0.92}};
  const Gpu G = stores(4, {0}).G;
  for (auto [Megabytes, OneOfLine, All] : Missed) {
    EXPECT_NEAR(1 - randomHitShare({Megabytes * (1 << 20), 1}, G), OneOfLine, 0.12) << Megabytes;
    EXPECT_NEAR(1 - randomHitShare({Megabytes * (1 << 20), 2}, G), All, 0.12) << Megabytes;
  }
}

} // namespace
