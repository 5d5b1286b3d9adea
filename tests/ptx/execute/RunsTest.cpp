#include "tests/ptx/execute/Kernel.h"

#include <bit>

using namespace restride::ptx;
using namespace restride::ptx::test;

/// The text of a function k.
static std::string function(const std::string &Parameters, const std::string &Body) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(" + Parameters +
         ")\n{\n.reg .pred %p<5>;\n.reg .b32 %r<12>;\n.reg .b64 %rd<19>;\n.reg .f32 %f<3>;\n" + Body + "}\n";
}

TEST(Runs, AreAsLongAsInTheMean) {
  // for (i = starts[block] + thread; i < starts[block + 1]; i += threads) sum += p[i];
  Module M = parsed(function(".param .u64 .ptr .global p, .param .u64 .ptr .global starts", R"(ld.param.u64 %rd1, [p];
ld.param.u64 %rd2, [starts];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %tid.x;
mov.u32 %r3, %ntid.x;
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd4, %rd2, %rd3;
ld.global.u32 %r4, [%rd4];
ld.global.u32 %r5, [%rd4+4];
add.s32 %r6, %r4, %r2;
setp.ge.s32 %p1, %r6, %r5;
@%p1 bra DONE;
LOOP: mul.wide.s32 %rd5, %r6, 16;
add.s64 %rd6, %rd1, %rd5;
ld.global.f32 %f1, [%rd6];
add.s32 %r6, %r6, %r3;
setp.lt.s32 %p2, %r6, %r5;
@%p2 bra LOOP;
DONE: ret;
)"));
  Kernel K(*M.find("k"));
  LaunchFacts L;
  L.Arrays = {{{1000000 * 16, 0, 0, {}, 1000000}}, {{1001 * 4, 0, 0, {}, 1001}}};
  WarpTrace T = K.run(L, 3, 0);
  ASSERT_EQ(T.Loops.size(), 1u);
  EXPECT_TRUE(T.Loops[0].Known);
  EXPECT_TRUE(T.Loops[0].Runs);
  EXPECT_EQ(T.Loops[0].Executed, 4u) << "1,000 elements for 256 threads";
  ASSERT_EQ(T.Requests.size(), 6u);
  EXPECT_FALSE(T.Requests[2].DependsOnLoad);
  EXPECT_LT(T.Requests[2].Address[0] - (Range + 3000 * 16), 78u * 16) << "runs before are about as long";
  for (unsigned Lane = 0; Lane < 32; ++Lane)
    EXPECT_EQ(T.Requests[2].Address[Lane], T.Requests[2].Address[0] + Lane * 16);
  L.Orders = {IndexOrder::Random, IndexOrder::Sorted}; // what somebody says of the entries is stronger
  EXPECT_LT(K.run(L, 3, 0).Loops[0].Executed, 4u);
  L.Orders.clear();
  // The host writes 640 * r: each run begins far from the one before, and is no scattered access.
  L.Known = {nullptr, [](unsigned, uint64_t Offset) { return std::optional(KnownInteger{int64_t(Offset / 4 * 640), true}); }};
  T = K.run(L, 3, 0);
  EXPECT_TRUE(T.Loops[0].Known);
  EXPECT_FALSE(T.Loops[0].Runs) << "how long they are is known";
  EXPECT_EQ(T.Loops[0].Executed, 3u) << "640 elements for 256 threads";
  EXPECT_FALSE(T.Requests[2].DependsOnLoad);
  EXPECT_EQ(T.Requests[2].Address[0], Range + 3 * 640 * 16);
  L.Known.clear();
  L.Arrays.pop_back(); // nobody knows how many runs there are
  EXPECT_FALSE(K.run(L, 3, 0).Loops[0].Known);
}

TEST(Runs, ThatDataChooseAreAsLongAsInTheMean) {
  // c = cells[i]; for (j = starts[c]; j < ends[c]; ++j) sum += p[j];
  const std::string Text = function(".param .u64 .ptr .global p, .param .u64 .ptr .global starts, .param .u64 .ptr .global ends, .param .u64 .ptr .global cells", R"(ld.param.u64 %rd1, [p];
ld.param.u64 %rd2, [starts];
ld.param.u64 %rd3, [ends];
ld.param.u64 %rd4, [cells];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd5, %r1, 4;
add.s64 %rd6, %rd4, %rd5;
ld.global.u32 %r2, [%rd6];
mul.wide.u32 %rd7, %r2, 4;
add.s64 %rd8, %rd2, %rd7;
add.s64 %rd9, %rd3, %rd7;
ld.global.u32 %r3, [%rd8];
ld.global.u32 %r4, [%rd9];
setp.ge.s32 %p1, %r3, %r4;
@%p1 bra DONE;
sub.s32 %r5, %r4, %r3;
mul.wide.s32 %rd10, %r3, 16;
add.s64 %rd11, %rd1, %rd10;
LOOP: ld.global.f32 %f1, [%rd11];
add.s64 %rd11, %rd11, 16;
add.s32 %r5, %r5, -1;
setp.ne.s32 %p2, %r5, 0;
@%p2 bra LOOP;
DONE: ret;
)");
  Module M = parsed(Text);
  Kernel K(*M.find("k"));
  LaunchFacts L;
  L.Arrays = {{{8000 * 16, 0, 0, {}, 8000}}, {{1000 * 4, 0, 0, {}, 1000}}, {{1000 * 4, 0, 0, {}, 1000}}, {}};
  WarpTrace T = K.run(L);
  ASSERT_EQ(T.Loops.size(), 1u);
  EXPECT_TRUE(T.Loops[0].Runs);
  EXPECT_GT(T.Loops[0].Executed, 8u) << "the longest of 32 runs";
  EXPECT_LE(T.Loops[0].Executed, 16u);
  uint64_t Elements = 0;
  for (size_t I = 3; I < T.Requests.size(); ++I)
    Elements += uint64_t(std::popcount(T.Requests[I].Mask));
  EXPECT_NEAR(double(Elements) / 32, 8, 1.5) << "which are as long as in the mean";
  EXPECT_TRUE(T.Requests[3].DependsOnLoad);
  EXPECT_EQ(T.Requests[4].Address[5], T.Requests[3].Address[5] + 16);
  L.Arrays[0].clear(); // nobody knows how many elements there are
  EXPECT_FALSE(K.run(L).Loops[0].Runs);
  EXPECT_FALSE(WarpExecutor(K.F, K.C).elementsLieByRuns()) << "which run it is another array says";
  // c = (int)p[i].x: the elements lie in the order of their runs.
  std::string ByElement = Text;
  const std::string Other = "add.s64 %rd6, %rd4, %rd5;\nld.global.u32 %r2, [%rd6];\n";
  ByElement.replace(ByElement.find(Other), Other.size(), "add.s64 %rd6, %rd1, %rd5;\nld.global.f32 %f2, [%rd6];\ncvt.rzi.s32.f32 %r2, %f2;\n");
  const Module M2 = parsed(ByElement);
  const Kernel Cells(*M2.find("k"));
  EXPECT_TRUE(WarpExecutor(Cells.F, Cells.C).elementsLieByRuns());
  EXPECT_TRUE(WarpExecutor(Cells.F, Cells.C).makesSubscriptsOfReals());
  EXPECT_FALSE(WarpExecutor(K.F, K.C).makesSubscriptsOfReals());
}

TEST(Runs, OfElementsInTilesAreAsLongAsInTheMean) {
  // for (j = starts[i]; j < ends[i]; ++j) sum += p[j]; of tiles of 32 elements of 64 bytes
  const std::string Text = function(".param .u64 .ptr .global p, .param .u64 .ptr .global starts, .param .u64 .ptr .global ends", R"(ld.param.u64 %rd1, [p];
ld.param.u64 %rd2, [starts];
ld.param.u64 %rd3, [ends];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd4, %r1, 4;
add.s64 %rd5, %rd2, %rd4;
add.s64 %rd6, %rd3, %rd4;
ld.global.u32 %r2, [%rd5];
ld.global.u32 %r3, [%rd6];
setp.ge.s32 %p1, %r2, %r3;
@%p1 bra DONE;
cvt.s64.s32 %rd7, %r2;
and.b64 %rd8, %rd7, 4294967295;
LOOP: shl.b64 %rd9, %rd8, 6;
and.b64 %rd10, %rd9, -2048;
add.s64 %rd11, %rd1, %rd10;
and.b64 %rd12, %rd8, 31;
shl.b64 %rd13, %rd12, 2;
add.s64 %rd14, %rd11, %rd13;
ld.global.f32 %f1, [%rd14];
add.s64 %rd8, %rd8, 1;
cvt.u32.u64 %r4, %rd8;
setp.lt.s32 %p2, %r4, %r3;
@%p2 bra LOOP;
DONE: ret;
)");
  Module M = parsed(Text);
  Kernel K(*M.find("k"));
  LaunchFacts L;
  L.Arrays = {{{8000 * 64, 0, 0, {}, 8000}}, {{1000 * 4, 0, 0, {}, 1000}}, {{1000 * 4, 0, 0, {}, 1000}}};
  WarpTrace T = K.run(L);
  EXPECT_TRUE(T.Loops.at(0).Runs);
  EXPECT_LE(T.Loops.at(0).Executed, 16u);
}

/// 1,000 rows `struct { int first, count; }`, and 8,000 elements that they are runs of.
static LaunchFacts rowsOfElements(unsigned TileRows) {
  ArrayPlace Rows{1000 * 8, TileRows * 8, TileRows * 8, {}, 1000, 8};
  for (unsigned Field = 0; Field < 2; ++Field)
    for (unsigned Row = 0; Row < TileRows; ++Row)
      for (unsigned Byte = 0; Byte < 4; ++Byte)
        Rows.Source.push_back(Row * 8 + Field * 4 + Byte);
  LaunchFacts L;
  L.Arrays = {{{8000 * 16, 0, 0, {}, 8000}}, {Rows}};
  return L;
}

/// `%r2 = rows[i].first, %r3 = rows[i].count` of i below 32, in records and in tiles of 32.
const char *const RowLoads[] = {R"(mul.wide.u32 %rd3, %r1, 8;
add.s64 %rd4, %rd2, %rd3;
ld.global.v2.u32 {%r2, %r3}, [%rd4];
)",
                                R"(mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd4, %rd2, %rd3;
ld.global.u32 %r2, [%rd4];
ld.global.u32 %r3, [%rd4+128];
)"};
constexpr unsigned RowsPerTile[] = {1, 32};

static Kernel ofRows(const std::string &Body) {
  return Kernel(*parsed(function(".param .u64 .ptr .global p, .param .u64 .ptr .global rows", R"(ld.param.u64 %rd1, [p];
ld.param.u64 %rd2, [rows];
mov.u32 %r1, %tid.x;
)" + Body + "ret;\n"))
                     .find("k"));
}

/// for (k = 0; k != rows[i].count; ++k) p[rows[i].first + k], with `%r2 = rows[i].first, %r3 = rows[i].count`.
const char *const FromZero = R"(setp.lt.s32 %p1, %r3, 1;
@%p1 bra DONE;
mov.b32 %r4, 0;
LOOP: add.s32 %r5, %r4, %r2;
mul.wide.s32 %rd5, %r5, 16;
add.s64 %rd6, %rd1, %rd5;
ld.global.b32 %r6, [%rd6];
add.s32 %r4, %r4, 1;
setp.ne.s32 %p2, %r4, %r3;
@%p2 bra LOOP;
DONE: )";

static void expectMeanRuns(const WarpTrace &T) {
  ASSERT_EQ(T.Loops.size(), 1u);
  EXPECT_TRUE(T.Loops[0].Runs);
  EXPECT_GT(T.Loops[0].Executed, 8u) << "the longest of 32 runs";
  EXPECT_LE(T.Loops[0].Executed, 16u);
}

TEST(Runs, AreCountedFromZeroAsWell) {
  for (const unsigned Layout : {0u, 1u}) {
    SCOPED_TRACE(Layout);
    expectMeanRuns(ofRows(std::string(RowLoads[Layout]) + FromZero).run(rowsOfElements(RowsPerTile[Layout]), 0, 0));
  }
}

TEST(Runs, MayHaveCountsOfFewerBytes) {
  const std::string Loads = R"(mul.wide.u32 %rd3, %r1, 8;
add.s64 %rd4, %rd2, %rd3;
ld.global.b32 %r2, [%rd4];
ld.global.s16 %r3, [%rd4+4];
)";
  // for (j = rows[i].first; j < rows[i].first + rows[i].count; ++j) p[j]
  const Kernel FromBegin = ofRows(Loads + R"(setp.lt.s32 %p1, %r3, 1;
@%p1 bra DONE;
add.s32 %r4, %r2, %r3;
LOOP: mul.wide.s32 %rd5, %r2, 16;
add.s64 %rd6, %rd1, %rd5;
ld.global.b32 %r6, [%rd6];
add.s32 %r2, %r2, 1;
setp.lt.s32 %p2, %r2, %r4;
@%p2 bra LOOP;
DONE: )");
  for (const Kernel &K : {FromBegin, ofRows(Loads + FromZero)})
    expectMeanRuns(K.run(rowsOfElements(1), 0, 0));
}

TEST(Runs, OfArraysInAStructAreFoundWhereverItsMembersAreCountedFrom) {
  // for (k = 0; k != s.rows[i].count; ++k) s.p[s.rows[i].first + k], as nvcc addresses the members
  const Kernel K(*parsed(function(".param .align 8 .b8 s[16]", std::string(R"(mov.b64 %rd9, s;
add.s64 %rd8, %rd9, 16;
ld.param.u64 %rd1, [%rd8+-16];
ld.param.u64 %rd2, [%rd8+-8];
mov.u32 %r1, %tid.x;
)") + RowLoads[0] + FromZero + "ret;\n"))
                      .find("k"));
  LaunchFacts L = rowsOfElements(1);
  L.Arrays = {{L.Arrays[0][0], L.Arrays[1][0]}};
  expectMeanRuns(K.run(L, 0, 0));
}

TEST(Runs, AreSearched) {
  for (const unsigned Layout : {0u, 1u}) {
    // lo = rows[i].first, hi = lo + rows[i].count; while (lo < hi) { mid = (lo + hi) / 2; p[mid] < i ? lo = mid + 1 : hi = mid; }
    const Kernel K = ofRows(std::string(RowLoads[Layout]) + R"(add.s32 %r4, %r2, %r3;
setp.lt.s32 %p1, %r3, 1;
@%p1 bra DONE;
LOOP: add.s32 %r5, %r4, %r2;
shr.u32 %r6, %r5, 1;
mul.wide.u32 %rd5, %r6, 16;
add.s64 %rd6, %rd1, %rd5;
ld.global.b32 %r7, [%rd6];
setp.lt.s32 %p2, %r7, %r1;
add.s32 %r8, %r6, 1;
selp.b32 %r2, %r8, %r2, %p2;
selp.b32 %r4, %r4, %r6, %p2;
setp.lt.s32 %p3, %r2, %r4;
@%p3 bra LOOP;
DONE: )");
    const WarpTrace T = K.run(rowsOfElements(RowsPerTile[Layout]), 0, 0);
    ASSERT_EQ(T.Loops.size(), 1u);
    EXPECT_GE(T.Loops[0].Executed, 3u);
    EXPECT_LE(T.Loops[0].Executed, 5u) << "of runs of eight, and not of 8,000 elements";
  }
}
