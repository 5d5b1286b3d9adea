#include "tests/ptx/execute/Kernel.h"
#include "ptx/parse/Inline.h"

#include "llvm/ADT/STLExtras.h"

#include <bit>
#include <chrono>
#include <cmath>
#include <random>
#include <set>

using namespace restride::ptx;
using namespace restride::ptx::test;

namespace {

const char *const Compilers[] = {"clang", "nvcc"};

Kernel fromFile(const std::string &File, const std::string &Name) {
  Module M = parsed(input(File));
  const Function *F = M.find(Name);
  EXPECT_TRUE(F) << File << ' ' << Name;
  return Kernel(F ? inlineCalls(M, *F) : Function());
}

Kernel fromText(const std::string &Body) { return Kernel(parsed(kernel(Body)).Functions.at(0)); }

/// Thread number in the grid of \p Lane, for the block and warp that run() takes.
constexpr uint64_t thread(unsigned Lane) { return 3 * 256 + 2 * 32 + Lane; }

std::vector<uint64_t> activeAddresses(const Request &R) {
  std::vector<uint64_t> Out;
  for (unsigned L = 0; L < 32; ++L)
    if (R.Mask >> L & 1)
      Out.push_back(R.Address[L]);
  return Out;
}

/// Distinct 32-byte sectors of a request.
size_t sectors(const Kernel &K, const Request &R) {
  std::set<uint64_t> Sectors;
  for (uint64_t First : activeAddresses(R))
    for (uint64_t A = First; A < First + K.F.Body[R.Instruction].accessBytes(); ++A)
      Sectors.insert(A / 32);
  return Sectors.size();
}

std::vector<Request> loads(const Kernel &K, const WarpTrace &T) {
  std::vector<Request> Out;
  for (const Request &R : T.Requests)
    if (K.F.Body[R.Instruction].isLoad())
      Out.push_back(R);
  return Out;
}

/// Value that register %r9 has at the end: stored to [p] by the text's last line.
std::vector<uint64_t> stored(const std::string &Body) {
  // Addresses are all that a trace shows, so the value becomes one.
  Kernel K =
      fromText(Body + "\nld.param.u64 %rd10, [p];\ncvta.to.global.u64 %rd10, %rd10;\n"
                      "cvt.u64.u32 %rd11, %r9;\nadd.s64 %rd10, %rd10, %rd11;\nst.global.u32 [%rd10], %r9;\nret;");
  WarpTrace T = K.run();
  std::vector<uint64_t> Out;
  if (T.Requests.empty() || T.Requests.back().Mask != ~0u) {
    ADD_FAILURE() << Body << ": no full store";
    return std::vector<uint64_t>(32);
  }
  for (uint64_t A : T.Requests.back().Address)
    Out.push_back(A - Range);
  return Out;
}

TEST(Execute, LayoutAddresses) {
  for (const std::string Compiler : Compilers) {
    const std::string File = "layouts." + Compiler + ".ptx";
    LaunchFacts L;
    L.Arguments = {std::nullopt, std::nullopt, 1 << 20};

    Kernel Aos = fromFile(File, "aos");
    WarpTrace T = Aos.run(L);
    std::vector<Request> Loads = loads(Aos, T);
    ASSERT_EQ(Loads.size(), 2u) << File;
    std::set<uint64_t> First{Loads[0].Address[5], Loads[1].Address[5]};
    EXPECT_EQ(First, (std::set<uint64_t>{Range + thread(5) * 16, Range + thread(5) * 16 + 8})) << File;
    EXPECT_EQ(sectors(Aos, Loads[0]), 16u) << File;
    EXPECT_EQ(T.Requests.back().Address[5], 2 * Range + thread(5) * 4) << File;
    EXPECT_FALSE(Loads[0].DependsOnLoad);

    // A struct of pointers passed by value: each has its own range.
    Kernel Soa = fromFile(File, "soa");
    T = Soa.run();
    ASSERT_EQ(T.Requests.size(), 3u) << File;
    std::set<uint64_t> Bases;
    for (const Request &R : T.Requests) {
      Bases.insert(R.Address[0] / Range);
      EXPECT_EQ(R.Address[7] % Range, thread(7) * 4) << File;
      EXPECT_EQ(sectors(Soa, R), 4u) << File;
    }
    EXPECT_EQ(Bases.size(), 3u) << File;

    // Tiles of 32: i / 32 and i % 32 with signed fix-ups.
    Kernel Asta = fromFile(File, "asta");
    Loads = loads(Asta, Asta.run(L));
    ASSERT_EQ(Loads.size(), 2u) << File;
    for (const Request &R : Loads)
      for (unsigned Lane = 0; Lane < 32; ++Lane)
        EXPECT_EQ((R.Address[Lane] - Range) % 128, (thread(Lane) % 32) * 4) << File;
    EXPECT_EQ((Loads[0].Address[9] - Range) / 256, thread(9) / 32) << File;
    EXPECT_EQ(sectors(Asta, Loads[0]), 4u) << File;
  }
}

TEST(Execute, GuardAtTheEdge) {
  for (const std::string Compiler : Compilers) {
    Kernel K = fromFile("layouts." + Compiler + ".ptx", "aos");
    LaunchFacts L;
    L.Arguments = {std::nullopt, std::nullopt, int64_t(thread(10))};
    WarpTrace T = K.run(L);
    ASSERT_EQ(T.Requests.size(), 3u);
    EXPECT_EQ(T.Requests[0].Mask, (1u << 10) - 1);
    L.Arguments[2] = 5;
    EXPECT_TRUE(K.run(L).Requests.empty());
    // An argument that nobody knows does not make a guard leave.
    L.Arguments.clear();
    L.DefaultInteger = 5;
    EXPECT_EQ(K.run(L).Requests.size(), 3u);
  }
}

// if (thread >= *count) return; the launch covers what another kernel has counted, however many that are.
TEST(Execute, AGuardByACountInMemoryHolds) {
  auto requests = [](const std::string &Leaves) {
    const Kernel K = fromText("ld.param.u64 %rd1, [p];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n"
                              "mad.lo.s32 %r4, %r1, %r2, %r3;\nld.global.u32 %r5, [%rd1+4];\n" + Leaves +
                              "\n@%p1 bra END;\nmul.wide.u32 %rd2, %r4, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r6, [%rd3];\nEND: ret;");
    LaunchFacts L;
    L.Elements = 8;
    return K.run(L, 1000).Requests.size();
  };
  EXPECT_EQ(requests("setp.ge.s32 %p1, %r4, %r5;"), 2u);
  EXPECT_EQ(requests("setp.le.s32 %p1, %r5, %r4;"), 2u);
  // Those behind the count go on.
  EXPECT_EQ(requests("setp.lt.s32 %p1, %r4, %r5;"), 2u);
  // What each thread loads for itself is no count.
  EXPECT_EQ(requests("mul.wide.u32 %rd4, %r4, 4;\nadd.s64 %rd5, %rd1, %rd4;\nld.global.u32 %r5, [%rd5];\nsetp.ge.s32 %p1, %r4, %r5;"), 2u);
}

TEST(Execute, IndirectGather) {
  for (const std::string Compiler : Compilers) {
    Kernel K = fromFile("layouts." + Compiler + ".ptx", "gather");
    LaunchFacts L;
    L.Elements = 1000;
    WarpTrace T = K.run(L);
    std::vector<Request> Loads = loads(K, T);
    ASSERT_EQ(Loads.size(), 2u);
    EXPECT_FALSE(Loads[0].DependsOnLoad);
    EXPECT_TRUE(Loads[1].DependsOnLoad);
    EXPECT_EQ(Loads[1].Mask, ~0u) << "a loaded index is not negative";
    std::set<uint64_t> Distinct;
    for (uint64_t A : Loads[1].Address) {
      EXPECT_LT((A - Range) / 16, 1000u);
      EXPECT_EQ(A % 16, 4u);
      Distinct.insert(A);
    }
    EXPECT_GT(Distinct.size(), 20u);
    EXPECT_EQ(K.run(L).Requests[1].Address, T.Requests[1].Address) << "repeatable";
  }
}

TEST(Execute, GatherInOrder) {
  Kernel K = fromFile("layouts.clang.ptx", "gather");
  LaunchFacts L;
  L.Orders.assign(K.F.Params.size(), IndexOrder::Sorted);
  std::vector<Request> Loads = loads(K, K.run(L));
  ASSERT_EQ(Loads.size(), 2u);
  EXPECT_FALSE(Loads[1].DependsOnLoad) << "they are known";
  for (unsigned Lane = 0; Lane < 32; ++Lane) {
    uint64_t Element = (Loads[1].Address[Lane] - Range) / 16;
    EXPECT_GE(Element, thread(Lane));
    EXPECT_LE(Element, thread(Lane) + 1);
  }
  L.Orders.assign(K.F.Params.size(), IndexOrder::Local);
  Loads = loads(K, K.run(L));
  std::set<uint64_t> Distinct;
  for (unsigned Lane = 0; Lane < 32; ++Lane) {
    uint64_t Element = (Loads[1].Address[Lane] - Range) / 16;
    EXPECT_LE(Element, thread(Lane) + 64);
    EXPECT_GE(Element + 64, thread(Lane));
    Distinct.insert(Element);
  }
  EXPECT_GT(Distinct.size(), 16u) << "in no order";
}

TEST(Execute, LoopIsCutAndWeighted) {
  for (const std::string Compiler : Compilers) {
    Kernel K = fromFile("layouts." + Compiler + ".ptx", "nbody");
    LaunchFacts L;
    L.Arguments = {std::nullopt, std::nullopt, 100003};
    WarpTrace T = K.run(L);
    EXPECT_FALSE(T.Truncated);
    // Reads of p[j].x: all trips of the unrolled loop, and what it leaves over.
    double Reads = 0;
    for (unsigned I = 0; I < K.F.Body.size(); ++I)
      if (K.F.Body[I].isLoad())
        Reads += T.BlockWeight[K.C.blockOf(I)];
    EXPECT_DOUBLE_EQ(Reads, 100003 + 1) << Compiler;
    EXPECT_LT(T.BlockVisits[K.C.blockOf(loads(K, T)[3].Instruction)], 70u);
    // After the cut, addresses go on where the whole loop would have ended.
    EXPECT_EQ(loads(K, T).back().Address[0], Range + 100002 * 16) << Compiler;
    EXPECT_TRUE(T.Loops[0].Known);
    EXPECT_EQ(T.Loops[0].Entries, 1u);
    EXPECT_EQ(T.Loops[0].Executed, 64u);
  }
}

TEST(Execute, NestedWeightsMultiply) {
  for (const std::string Compiler : Compilers) {
    Kernel K = fromFile("flow." + Compiler + ".ptx", "nested");
    LaunchFacts L;
    L.Arguments = {std::nullopt, 500, 300};
    WarpTrace T = K.run(L);
    EXPECT_TRUE(T.Truncated) << "more requests than kept";
    double Reads = 0;
    for (unsigned I = 0; I < K.F.Body.size(); ++I)
      if (K.F.Body[I].isLoad())
        Reads += T.BlockWeight[K.C.blockOf(I)];
    EXPECT_DOUBLE_EQ(Reads, 500.0 * 300 * 8) << Compiler;
    EXPECT_LE(T.Requests.size(), 3000u + 2 * K.F.Body.size());
    // The store after the loops is still seen.
    EXPECT_TRUE(K.F.Body[T.Requests.back().Instruction].isStore());
  }
}

TEST(Execute, TriangularLoop) {
  // for (i = 0; i < 100; ++i) for (j = 0; j <= i; ++j) load
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, 0;
OUTER: mov.u32 %r2, 0;
INNER: ld.global.f32 %f1, [%rd1];
add.s32 %r2, %r2, 1;
setp.le.s32 %p1, %r2, %r1;
@%p1 bra INNER;
add.s32 %r1, %r1, 1;
setp.lt.s32 %p2, %r1, 100;
@%p2 bra OUTER;
ret;)");
  ExecuteLimits All;
  All.MaxRequests = All.MaxTripsPerLoop = 1 << 20;
  WarpTrace T = K.run({}, 0, 0, All);
  EXPECT_EQ(T.Requests.size(), 5050u);
  EXPECT_DOUBLE_EQ(T.BlockWeight[2], 5050);
  EXPECT_EQ(T.Loops[1].Entries, 100u);
  EXPECT_EQ(T.Loops[1].Executed, 5050u);
  ASSERT_EQ(T.TripStarts[0].size(), 100u);
  EXPECT_TRUE(T.TripStarts[0][0].Enters);
  EXPECT_FALSE(T.TripStarts[0][1].Enters);
  EXPECT_EQ(T.TripStarts[0][3].Request, 1u + 2 + 3);
  ASSERT_EQ(T.TripStarts[1].size(), 5050u);
  EXPECT_TRUE(T.TripStarts[1][1].Enters);
  EXPECT_FALSE(T.TripStarts[1][2].Enters);
}

TEST(Execute, ACounterMayBeComparedBeforeItsNextValueIsCopied) {
  // for (i = 3; i <= 70; ++i), as Clang ends it.
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.b32 %r1, 3;
LOOP: mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.f32 %f1, [%rd3];
add.s32 %r2, %r1, 1;
setp.lt.s32 %p1, %r1, 70;
mov.b32 %r1, %r2;
@%p1 bra LOOP;
ret;)");
  WarpTrace T = K.run();
  EXPECT_TRUE(T.Loops[0].Known);
  EXPECT_DOUBLE_EQ(T.Loops[0].True, 68);
  EXPECT_EQ(T.Requests.back().Address[0], Range + 66 * 4) << "cut after 64";
}

TEST(Execute, ANeighbourhoodOfDataHasItsSize) {
  // c = min(cells[i], 99); for (k = max(c, 1) - 1; k <= min(c + 1, 99); ++k) p[k]
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r2, [%rd3];
min.s32 %r3, %r2, 99;
max.s32 %r4, %r3, 1;
add.s32 %r5, %r4, -1;
add.s32 %r6, %r3, 1;
min.s32 %r7, %r6, 99;
setp.gt.s32 %p1, %r5, %r7;
@%p1 bra DONE;
LOOP: mul.wide.s32 %rd4, %r5, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.f32 %f1, [%rd5];
add.s32 %r8, %r5, 1;
setp.eq.b32 %p2, %r5, %r7;
mov.b32 %r5, %r8;
@!%p2 bra LOOP;
DONE: ret;)");
  uint64_t Lanes = 0;
  for (unsigned Warp = 0; Warp < 8; ++Warp) {
    WarpTrace T = K.run({}, 3, Warp);
    EXPECT_EQ(T.Loops[0].Executed, 3u);
    EXPECT_TRUE(T.Loops[0].Known);
    for (size_t I = 1; I < T.Requests.size(); ++I)
      Lanes += uint64_t(std::popcount(T.Requests[I].Mask));
  }
  EXPECT_LE(Lanes, 3u * 256);
  EXPECT_GT(Lanes, 3u * 256 - 20) << "two at the border";
}

TEST(Execute, ACounterThatBeginsAsAConstantDoesNotFollowFromWhatItsRegisterHoldsLater) {
  // for (k = 0; k < (counts[i] & -2); k += 2) p[k]: Clang copies the zero from the register that the bound comes to.
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r2, [%rd3];
mov.b32 %r3, 0;
mov.b32 %r4, %r3;
setp.eq.b32 %p1, %r2, 0;
@%p1 bra DONE;
and.b32 %r3, %r2, -2;
LOOP: mul.wide.s32 %rd4, %r4, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.f32 %f1, [%rd5];
add.s32 %r4, %r4, 2;
setp.eq.b32 %p2, %r4, %r3;
@!%p2 bra LOOP;
DONE: ret;)");
  WarpTrace T = K.run();
  EXPECT_FALSE(T.Loops[0].Known);
  EXPECT_LE(T.Loops[0].True, 16);
}

// for (k = int(x[i] - 3); k <= int(x[i] + 3); ++k) p[k]
TEST(Execute, AWindowAroundDataIsNarrow) {
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.f32 %f1, [%rd3];
sub.f32 %f2, %f1, 0f40400000;
cvt.rzi.s32.f32 %r5, %f2;
add.f32 %f3, %f1, 0f40400000;
cvt.rzi.s32.f32 %r7, %f3;
LOOP: mul.wide.s32 %rd4, %r5, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.f32 %f4, [%rd5];
add.s32 %r8, %r5, 1;
setp.lt.s32 %p2, %r5, %r7;
mov.b32 %r5, %r8;
@%p2 bra LOOP;
ret;)");
  WarpTrace T = K.run();
  EXPECT_DOUBLE_EQ(T.Loops[0].True, 3);
}

TEST(Execute, LanesWithDifferentTrips) {
  // Lane l makes l + 1 trips.
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, %laneid;
LOOP: ld.global.f32 %f1, [%rd1];
add.s32 %r1, %r1, -1;
setp.ge.s32 %p1, %r1, 0;
@%p1 bra LOOP;
st.global.f32 [%rd1], %f1;
ret;)");
  WarpTrace T = K.run();
  EXPECT_EQ(T.Loops[0].Executed, 32u);
  uint64_t Lanes = 0; // of all trips
  for (const Request &R : llvm::drop_end(T.Requests))
    Lanes += activeAddresses(R).size();
  EXPECT_EQ(Lanes, 32u * 33 / 2);
  EXPECT_EQ(T.BlockVisits[K.C.blockOf(2)], 32u);
  EXPECT_EQ(T.Requests.back().Mask, ~0u) << "lanes meet after the loop";
  ExecuteLimits Short;
  Short.MaxTripsPerLoop = 4;
  T = K.run({}, 0, 0, Short);
  EXPECT_EQ(T.Loops[0].Executed, 4u);
  EXPECT_DOUBLE_EQ(T.Loops[0].True, 32);
  EXPECT_EQ(T.Requests.back().Mask, ~0u);
}

TEST(Execute, DataLoop) {
  for (const std::string Compiler : Compilers) {
    Kernel K = fromFile("layouts." + Compiler + ".ptx", "rows");
    WarpTrace T = K.run();
    ASSERT_EQ(T.Loops.size(), 1u);
    EXPECT_EQ(T.Loops[0].Executed, 16u) << Compiler;
    EXPECT_FALSE(T.Loops[0].Known);
    EXPECT_EQ(T.Requests.back().Mask, ~0u);
    ExecuteLimits Limits;
    Limits.DataLoopTrips = 5;
    EXPECT_EQ(K.run({}, 3, 2, Limits).Loops[0].Executed, 5u) << Compiler;
  }
}

TEST(Execute, AStackThatDataFillSaysNothingOfTheTrips) {
  // top = 1; do { --top; while (p[i] >= 0) { i = p[i]; ++top; } } while (top > 0);
  const Kernel Inner = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, 1;
mov.u32 %r2, %laneid;
OUTER: add.s32 %r1, %r1, -1;
DOWN: mul.wide.u32 %rd2, %r2, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r2, [%rd3];
add.s32 %r1, %r1, 1;
setp.ge.s32 %p1, %r2, 0;
@%p1 bra DOWN;
setp.gt.s32 %p2, %r1, 0;
@%p2 bra OUTER;
ret;)");
  // The same with if (p[top] > 9) ++top;
  const Kernel Branch = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, 1;
OUTER: add.s32 %r1, %r1, -1;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r2, [%rd3];
setp.le.s32 %p1, %r2, 9;
@%p1 bra NEXT;
add.s32 %r1, %r1, 1;
NEXT: setp.gt.s32 %p2, %r1, 0;
@%p2 bra OUTER;
ret;)");
  for (const Kernel *K : {&Inner, &Branch}) {
    const WarpTrace T = K->run();
    EXPECT_EQ(T.Loops.at(0).Executed, 16u);
    EXPECT_FALSE(T.Loops.at(0).Known);
  }
}

TEST(Execute, DataOfAnArrayInAStructAreTheSameInAllLayouts) {
  // p[i] of a struct { float *q; int *p; }, where q is two pointers in one layout
  auto text = [](unsigned Offset) {
    return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .align 8 .b8 s[" + std::to_string(Offset + 8) + R"(])
{
.reg .b32 %r<4>;
.reg .b64 %rd<8>;
ld.param.b64 %rd1, [s+)" + std::to_string(Offset) + R"(];
cvta.to.global.u64 %rd2, %rd1;
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd4, %rd2, %rd3;
ld.global.u32 %r2, [%rd4];
mul.wide.u32 %rd5, %r2, 4;
add.s64 %rd6, %rd2, %rd5;
ld.global.u32 %r3, [%rd6];
ret;
}
)";
  };
  auto offsets = [&](unsigned Offset, unsigned Words) {
    const Module M = parsed(text(Offset));
    const Kernel K(*M.find("k"));
    LaunchFacts L;
    L.Arrays.emplace_back(Words);
    L.Arrays[0].back().Word = 2; // in the source
    std::vector<uint64_t> Out;
    for (uint64_t A : activeAddresses(K.run(L).Requests.at(1)))
      Out.push_back(A % Range);
    return Out;
  };
  EXPECT_EQ(offsets(8, 2), offsets(16, 3));
}

TEST(Execute, ASearchEndsSoon) {
  // while (p[k] != key) ++k;
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
ld.global.u32 %r9, [%rd1];
mov.u32 %r1, 0;
LOOP: mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r2, [%rd3];
add.s32 %r1, %r1, 1;
setp.ne.s32 %p1, %r2, %r9;
@%p1 bra LOOP;
ret;)");
  // Each lane makes two trips in the mean; the last of a warp makes more.
  double Lanes = 0, Trips = 0;
  for (unsigned Warp = 0; Warp < 8; ++Warp) {
    WarpTrace T = K.run({}, 0, Warp);
    EXPECT_TRUE(T.Loops[0].Search);
    Trips += double(T.Loops[0].Executed) / 8;
    for (const Request &R : T.Requests)
      Lanes += std::popcount(R.Mask) / 256.0;
  }
  EXPECT_NEAR(Lanes - 1, 2, 0.2) << "all lanes have loaded the key before";
  EXPECT_NEAR(Trips, 9.4, 1.5);
}

TEST(Execute, WhatASearchFindsIsReadOnce) {
  // while (true) { seen = p[s]; if (seen == key) break; if (seen == 0) return; ++s; } p[s + n]
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r9, %tid.x;
mov.u32 %r1, %r9;
bra LOOP;
LATCH: @%p3 bra LOOP;
bra DONE;
LOOP: mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r2, [%rd3];
setp.eq.s32 %p1, %r2, %r9;
mov.pred %p3, 0;
mov.u32 %r5, %r1;
@%p1 bra LATCH;
setp.eq.s32 %p2, %r2, 0;
mov.u32 %r5, -1;
@%p2 bra LATCH;
add.s32 %r1, %r1, 1;
mov.pred %p3, -1;
bra LATCH;
DONE: setp.eq.s32 %p4, %r5, -1;
@%p4 bra END;
mul.wide.s32 %rd4, %r5, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.u32 %r6, [%rd5+1048576];
END: ret;)");
  double Found = 0, Visited = 0;
  for (unsigned Warp = 0; Warp < 8; ++Warp)
    for (const Request &R : K.run({}, 0, Warp).Requests)
      (R.Address[std::countr_zero(R.Mask)] >= Range + 1048576 ? Found : Visited) += std::popcount(R.Mask) / 256.0;
  EXPECT_NEAR(Found, 0.5, 0.12);
  EXPECT_NEAR(Visited, 2, 0.3);
}

TEST(Execute, AWalkIsRecordedOnceLanesHaveParted) {
  // while (k >= 0) k = p[k];
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, 0;
LOOP: mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r1, [%rd3];
setp.ge.s32 %p1, %r1, 0;
@%p1 bra LOOP;
ret;)");
  ExecuteLimits Limits;
  EXPECT_EQ(K.run({}, 3, 2, Limits).Requests.size(), 16u);
  Limits.WalkStart = 13;
  WarpTrace T = K.run({}, 3, 2, Limits);
  EXPECT_EQ(T.Requests.size(), 4u) << "the first trip and the last three";
  EXPECT_FALSE(T.Requests.at(0).DependsOnLoad);
  EXPECT_TRUE(T.Loops.at(0).Walk);
  EXPECT_EQ(T.Loops.at(0).Executed, 16u);
}

TEST(Execute, ExitByAFlagThatDataSets) {
  // while (true) { done = false; if (p[i] > limit) done = true; ++i; if (done) break; }
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
LOOP: mov.pred %p1, 0;
ld.global.u32 %r1, [%rd1];
setp.le.s32 %p2, %r1, %r2;
@%p2 bra NEXT;
mov.pred %p1, -1;
NEXT: add.s64 %rd1, %rd1, 4;
@!%p1 bra LOOP;
ret;)");
  EXPECT_EQ(K.run().Loops.at(0).Executed, 16u);
}

TEST(Execute, AFlagThatEndsALoopAloneCountsItsTrips) {
  // for (int i = 0; i < 2; ++i) { if (p[i] > limit) break; }, as Clang writes it: first = true; do { go = first; first = false; … } while (!stop && go);
  const Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.pred %p1, -1;
LOOP: mov.pred %p2, %p1;
mov.pred %p3, 0;
ld.global.u32 %r1, [%rd1];
setp.le.s32 %p4, %r1, %r2;
@%p4 bra NEXT;
mov.pred %p3, -1;
NEXT: add.s64 %rd1, %rd1, 4;
not.pred %p5, %p2;
or.pred %p6, %p3, %p5;
mov.pred %p1, 0;
not.pred %p7, %p6;
@%p7 bra LOOP;
ret;)");
  EXPECT_EQ(K.run().Loops.at(0).Executed, 2u);
}

TEST(Execute, ClampedDataSpreads) {
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, %laneid;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r2, [%rd3];
min.s32 %r3, %r2, 255;
mul.wide.u32 %rd4, %r3, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.u32 %r4, [%rd5];
ret;)");
  WarpTrace T = K.run();
  ASSERT_EQ(T.Requests.size(), 2u);
  EXPECT_GT(sectors(K, T.Requests[1]), 8u);
  for (uint64_t A : T.Requests[1].Address)
    EXPECT_LE(A, Range + 255 * 4);
}

TEST(Execute, PlacesInSpaceLieInsideTheirBounds) {
  // if (cell >= cells) return; of (int)x among a million elements and 64 cells, which an argument says, or data.
  auto lanesInside = [](const std::string &Bound, const std::string &Compare) {
    const Module M = parsed(R"(.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p, .param .align 4 .b8 grid[8]) {
.reg .pred %p<9>; .reg .b32 %r<19>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [p];
mov.u32 %r1, %laneid;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.b32 %r2, [%rd3];
cvt.rmi.f32.f32 %r3, %r2;
cvt.rzi.s32.f32 %r4, %r3;
mov.b64 %rd6, grid;
)" + Bound + Compare + R"(
@%p1 bra $out;
mul.wide.s32 %rd4, %r4, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.f32 %r6, [%rd5+4096];
$out:
ret;
})");
    Kernel K(*M.find("k"));
    LaunchFacts L;
    L.Elements = 1 << 20;
    L.Objects.resize(2);
    L.Objects[1].Bytes = {64, 0, 0, 0, 64, 0, 0, 0};
    const WarpTrace T = K.run(L);
    if (T.Requests.size() < 2)
      return 0;
    for (uint32_t Rest = T.Requests[1].Mask; Rest; Rest &= Rest - 1)
      EXPECT_LT(T.Requests[1].Address[unsigned(std::countr_zero(Rest))], Range + 4096 + 64 * 4);
    return std::popcount(T.Requests[1].Mask);
  };
  EXPECT_EQ(lanesInside("ld.param.b32 %r5, [%rd6];\n", "setp.ge.s32 %p1, %r4, %r5;"), 32);
  EXPECT_EQ(lanesInside("ld.param.b32 %r5, [%rd6+4];\n", "setp.le.s32 %p1, %r5, %r4;"), 32);
  EXPECT_EQ(lanesInside("add.s32 %r5, %r1, 64;\n", "setp.ge.s32 %p1, %r4, %r5;"), 0) << "a thread's own bound may be a lower one";
}

TEST(Execute, DataShiftsByLessThanTheWidth) {
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, %laneid;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r2, [%rd3];
mov.u32 %r3, -2147483648;
shr.u32 %r4, %r3, %r2;
mul.wide.u32 %rd4, %r4, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.u32 %r5, [%rd5];
ret;)");
  WarpTrace T = K.run();
  ASSERT_EQ(T.Requests.size(), 2u);
  for (uint64_t A : T.Requests[1].Address)
    EXPECT_GT(A, Range) << "no bit is lost";
}

TEST(Execute, DivergenceAndReconvergence) {
  Kernel K = fromFile("flow.clang.ptx", "diverge");
  WarpTrace T = K.run();
  ASSERT_EQ(T.Requests.size(), 5u);
  std::set<uint32_t> Masks;
  for (const Request &R : T.Requests)
    Masks.insert(R.Mask);
  EXPECT_EQ(Masks, (std::set<uint32_t>{0x11111111, 0xeeeeeeee, 0xffffffff}));
  EXPECT_EQ(T.Requests.back().Mask, ~0u);
}

TEST(Execute, ReconvergesPastBlocksOutOfOrder) {
  // The side of the branch that comes last in the text runs before the join.
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, %laneid;
setp.lt.u32 %p1, %r1, 8;
@%p1 bra FAR;
JOIN: st.global.u32 [%rd1], %r1;
ret;
FAR: ld.global.u32 %r2, [%rd1];
bra JOIN;)");
  WarpTrace T = K.run();
  ASSERT_EQ(T.Requests.size(), 2u);
  EXPECT_EQ(T.Requests[0].Mask, 0xffu);
  EXPECT_EQ(T.Requests[1].Mask, ~0u);
}

TEST(Execute, BranchOnData) {
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %laneid;
mad.lo.s32 %r1, %r1, 32, %r2;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
ld.global.f32 %f1, [%rd1];
setp.gt.f32 %p1, %f1, 0f00000000;
@%p1 bra NEXT;
st.global.f32 [%rd1+4], %f1;
NEXT: st.global.f32 [%rd1+8], %f1;
setp.le.f32 %p2, %f1, 0f00000000;
@%p2 bra END;
st.global.f32 [%rd1+12], %f1;
END: ret;)");
  unsigned Warps = 0, Lanes = 0;
  for (unsigned Block = 0; Block < 64; ++Block) {
    WarpTrace T = K.run(LaunchFacts(), Block, 0);
    if (T.Requests.size() != 4) // the lanes of this warp are all alike
      continue;
    ++Warps, Lanes += unsigned(__builtin_popcount(T.Requests[1].Mask));
    EXPECT_EQ(T.Requests[2].Mask, ~0u);
    EXPECT_EQ(T.Requests[3].Mask, ~T.Requests[1].Mask) << "where a guard on data lets lanes pass";
  }
  ASSERT_GT(Warps, 32u);
  EXPECT_GT(Lanes, 6u * Warps);
  EXPECT_LT(Lanes, 26u * Warps);
}

TEST(Execute, PlacesOfDataKeepTheirDistances) {
  // p[int(x[i])], p[int(floor(x[i] + 3))], and the same up to p[999]
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, %laneid;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.f32 %f1, [%rd3];
add.f32 %f2, %f1, 0f40400000;
cvt.rmi.f32.f32 %f2, %f2;
cvt.rzi.s32.f32 %r2, %f1;
cvt.rzi.s32.f32 %r3, %f2;
min.s32 %r4, %r2, 999;
min.s32 %r5, %r3, 999;
mul.wide.s32 %rd4, %r2, 4;
add.s64 %rd4, %rd1, %rd4;
ld.global.b32 %r6, [%rd4];
mul.wide.s32 %rd5, %r3, 4;
add.s64 %rd5, %rd1, %rd5;
ld.global.b32 %r6, [%rd5];
mul.wide.s32 %rd6, %r4, 4;
add.s64 %rd6, %rd1, %rd6;
ld.global.b32 %r6, [%rd6];
mul.wide.s32 %rd7, %r5, 4;
add.s64 %rd7, %rd1, %rd7;
ld.global.b32 %r6, [%rd7];
ret;)");
  const WarpTrace T = K.run();
  ASSERT_EQ(T.Requests.size(), 5u);
  std::set<uint64_t> Places;
  for (unsigned L = 0; L < 32; ++L) {
    EXPECT_EQ(T.Requests[2].Address[L], T.Requests[1].Address[L] + 12);
    const uint64_t Clamped = T.Requests[3].Address[L] - Range, Next = T.Requests[4].Address[L] - Range;
    EXPECT_LT(Clamped, 4000u);
    EXPECT_TRUE(Next == Clamped + 12 || Next < 12) << Clamped << " " << Next;
    Places.insert(Clamped);
  }
  EXPECT_GT(Places.size(), 24u) << "and are in no order";
}

/// Nobody knows how often data pass a test, and those of near threads are alike:
/// of a tenth of the warps no lane passes, and of a tenth all do.
TEST(Execute, DataOfNearThreadsAreAlike) {
  const char *const Guarded = R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %laneid;
mad.lo.s32 %r1, %r1, 32, %r2;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
ld.global.f32 %f1, [%rd1];
setp.gt.f32 %p1, %f1, 0f00000000;
@!%p1 bra END;
st.global.f32 [%rd1], %f1;
END: ret;)";
  Kernel K = fromText(Guarded);
  LaunchFacts L;
  L.Grid = {1000, 1, 1};
  L.Block = {32, 1, 1};
  unsigned None = 0, All = 0, Lanes = 0;
  for (uint32_t Block = 0; Block < 1000; ++Block) {
    const WarpTrace T = K.run(L, Block, 0);
    const uint32_t Passed = T.Requests.size() > 1 ? T.Requests[1].Mask : 0;
    None += Passed == 0;
    All += Passed == ~0u;
    Lanes += unsigned(__builtin_popcount(Passed));
  }
  EXPECT_NEAR(None, 100, 30);
  EXPECT_NEAR(All, 100, 30);
  EXPECT_NEAR(Lanes, 16000, 1600);
}

/// for (low = 0, high = 4096; high - low > 1; ) p[middle] > x ? high = middle : low = middle;
const char *const Halves = R"(ld.param.u64 %rd1, [p];
ld.param.u32 %r9, [n];
mov.u32 %r8, %tid.x;
mul.wide.u32 %rd6, %r8, 4;
add.s64 %rd7, %rd1, %rd6;
ld.global.f32 %f2, [%rd7+1048576];
mov.u32 %r1, 0;
mov.u32 %r2, %r9;
LOOP: add.s32 %r3, %r1, %r2;
shr.u32 %r4, %r3, 1;
mul.wide.u32 %rd2, %r4, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.f32 %f1, [%rd3];
setp.gt.f32 %p1, %f1, %f2;
selp.b32 %r2, %r4, %r2, %p1;
selp.b32 %r1, %r1, %r4, %p1;
sub.s32 %r5, %r2, %r1;
setp.gt.s32 %p2, %r5, 1;
@%p2 bra LOOP;
mul.wide.u32 %rd4, %r1, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.f32 %f3, [%rd5];
ld.global.f32 %f4, [%rd5+4];
ret;)";

TEST(Execute, ADescentPartsLevelByLevel) {
  Kernel K = fromText(Halves);
  LaunchFacts L;
  L.Arguments = {std::nullopt, 4096};
  WarpTrace T = K.run(L);
  EXPECT_EQ(T.Loops.at(0).Executed, 12u) << "as many trips as halve the range";
  EXPECT_TRUE(T.Loops.at(0).Walk);
  std::vector<std::set<uint64_t>> Places(14);
  for (const Request &R : T.Requests)
    if (R.Level)
      Places.at(R.Level).insert(R.Address.begin(), R.Address.end());
  EXPECT_EQ(Places[1], std::set<uint64_t>{Range + 2048 * 4}) << "all begin in the middle";
  EXPECT_EQ(Places[2].size(), 2u);
  EXPECT_LE(Places[3].size(), 4u);
  EXPECT_GT(Places[12].size(), 24u);
  const Request &Low = T.Requests.at(T.Requests.size() - 2), &High = T.Requests.back();
  EXPECT_EQ(Low.Level, 0);
  EXPECT_TRUE(Low.DependsOnLoad);
  for (unsigned Lane = 0; Lane < 32; ++Lane)
    EXPECT_EQ(High.Address[Lane] - Low.Address[Lane], 4u);
  ExecuteLimits Few;
  Few.MaxRequests = 4;
  EXPECT_EQ(K.run(L, 3, 2, Few).Loops.at(0).Executed, 12u) << "what stands behind it asks where it ended";
}

TEST(Execute, ADescentPartsWhereverItsKeysAre) {
  // The same over integers: those of the table are known, and larger than what is looked up, any number of which no more is known.
  std::string Text = Halves;
  for (auto [From, To] : {std::pair("ld.global.f32 %f1", "ld.global.u32 %r11"), {"ld.global.f32 %f2", "ld.global.u32 %r12"}, {"setp.gt.f32 %p1, %f1, %f2", "setp.gt.u32 %p1, %r11, %r12"}})
    Text.replace(Text.find(From), std::string(From).size(), To);
  LaunchFacts L;
  L.Arguments = {std::nullopt, 4096};
  L.Known = {[](unsigned, uint64_t Offset) { return Offset < 4096 * 4 ? std::optional(KnownInteger{int64_t(Offset) * 1000000}) : std::nullopt; }};
  std::set<uint64_t> Ends;
  const WarpTrace T = fromText(Text).run(L);
  Ends.insert(T.Requests.back().Address.begin(), T.Requests.back().Address.end());
  EXPECT_GT(Ends.size(), 24u);
}

/// `while (!nodes[current].leaf) current = nodes[current].child[key > nodes[current].key];`: its first test is loaded by itself.
TEST(Execute, ADescentIsEnteredThatAsksOfEachNode) {
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
ld.param.u32 %r9, [n];
mul.wide.u32 %rd2, %r9, 16;
add.s64 %rd3, %rd1, %rd2;
ld.global.b32 %r2, [%rd3];
setp.ne.b32 %p1, %r2, 0;
@%p1 bra END;
DOWN: ld.global.f32 %f1, [%rd3+4];
setp.gt.f32 %p2, %f1, 0f3F800000;
selp.b64 %rd4, 8, 12, %p2;
add.s64 %rd5, %rd3, %rd4;
ld.global.b32 %r3, [%rd5];
mul.wide.u32 %rd6, %r3, 16;
add.s64 %rd3, %rd1, %rd6;
ld.global.b32 %r4, [%rd3];
setp.eq.b32 %p3, %r4, 0;
@%p3 bra DOWN;
END: ret;)");
  for (unsigned Warp = 0; Warp < 8; ++Warp)
    EXPECT_GT(K.run({}, 3, Warp).Loops[0].True, 1) << Warp;
}

/// A loop goes on while what was loaded says so, and asks it before its first trip.
TEST(Execute, ALoopIsEnteredThatGoesOnAsData) {
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 64;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r2, [%rd3];
setp.ne.s32 %p1, %r2, 77;
@%p1 bra END;
mov.u32 %r3, 0;
LOOP: ld.global.f32 %f1, [%rd3+16];
setp.gt.f32 %p2, %f1, 0f3F800000;
selp.b32 %r2, %r2, 5, %p2;
add.s32 %r3, %r3, 1;
setp.lt.s32 %p3, %r3, 12;
setp.eq.s32 %p4, %r2, 77;
and.pred %p5, %p3, %p4;
@%p5 bra LOOP;
END: ret;)");
  WarpTrace T = K.run();
  EXPECT_EQ(T.Loops.at(0).Entries, 1u);
  EXPECT_GE(T.Loops.at(0).Executed, 12u);
}

/// What is loaded without a sign has one if it is compared with one.
TEST(Execute, NarrowIntegersAreNotNegative) {
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 2;
add.s64 %rd3, %rd1, %rd2;
ld.global.b16 %rs1, [%rd3];
setp.lt.s16 %p1, %rs1, 0;
@%p1 bra END;
ld.global.f32 %f1, [%rd1];
END: ret;)");
  for (unsigned Warp = 0; Warp < 4; ++Warp)
    EXPECT_EQ(K.run({}, 3, Warp).Requests.back().Mask, ~0u);
}

/// `unsigned char length`: its sum is signed, as all sums are, and it is not.
TEST(Execute, SumsDoNotMakeBytesSigned) {
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x;
cvt.u64.u32 %rd2, %r1;
add.s64 %rd3, %rd1, %rd2;
ld.global.b8 %rs1, [%rd3];
add.s16 %rs2, %rs1, -1;
setp.gt.u16 %p1, %rs2, 9;
cvt.u32.u16 %r2, %rs1;
mul.wide.u32 %rd4, %r2, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.f32 %f1, [%rd5];
@%p1 bra END;
st.global.f32 [%rd5], %f1;
END: ret;)");
  const WarpTrace T = K.run();
  const Request &Gather = T.Requests[1];
  const auto [Low, High] = std::ranges::minmax(Gather.Address);
  EXPECT_LT(High - Low, 1024u);
  EXPECT_GT(High - Low, 128u * 4);
}

/// `grids + nuclide * points`, with a nuclide that data give: no program means to overflow.
TEST(Execute, AnIndexTimesAWidthStaysAnInteger) {
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
ld.param.u32 %r9, [n];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r2, [%rd3];
mul.lo.s32 %r3, %r2, %r9;
mul.wide.s32 %rd4, %r3, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.f32 %f1, [%rd5];
ret;)");
  LaunchFacts L;
  L.Arguments = {std::nullopt, 12000};
  L.Elements = 1 << 22;
  for (uint64_t Address : activeAddresses(K.run(L).Requests.back())) {
    EXPECT_LT(Address - Range, uint64_t(1) << 31);
    EXPECT_EQ((Address - Range) % (12000 * 4), 0u);
  }
}

/// A number that only stands for one near its place is an index, but no begin of a run.
TEST(Execute, AGuessedPlaceIsScaledToItsArray) {
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x;
mov.u32 %r4, %ctaid.x;
mad.lo.s32 %r1, %r4, 256, %r1;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r2, [%rd3];
mul.wide.s32 %rd4, %r2, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.f32 %f1, [%rd5+1048576];
ret;)");
  LaunchFacts L;
  L.Known = {[](unsigned, uint64_t Offset) { return std::optional(KnownInteger{int64_t(Offset / 4), false, true}); }};
  const Request R = K.run(L).Requests.back();
  EXPECT_FALSE(R.DependsOnLoad) << "it lies as the threads do";
  EXPECT_EQ(R.Address[1] - R.Address[0], 4u);
}

/// Lanes that walk part: each one's data are its own.
TEST(Execute, LanesThatWalkTossTheirOwnCoins) {
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, %laneid;
WALK:
mul.wide.u32 %rd2, %r1, 8;
add.s64 %rd3, %rd1, %rd2;
ld.global.f32 %f1, [%rd3];
setp.gt.f32 %p1, %f1, 0f00000000;
@%p1 bra FAR;
ld.global.u32 %r1, [%rd3+4];
FAR:
add.s32 %r1, %r1, 1;
setp.gt.f32 %p2, %f1, 0f3f800000;
@%p2 bra WALK;
ret;)");
  WarpTrace T = K.run();
  unsigned Parted = 0, Whole = 0;
  for (const Request &R : T.Requests)
    if (K.F.Body[R.Instruction].Ty.K != Type::Float) {
      ++Parted;
      Whole += R.Mask == ~0u;
    }
  EXPECT_GT(Parted, 8u);
  EXPECT_EQ(Whole, 0u);
}

/// Eight loops that data end, of sixteen trips each, of which the limit lets three run and a part of the fourth.
TEST(Execute, ALoopThatALimitEndsRunsAsLongAsBefore) {
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, 0;
OUTER: mov.u64 %rd2, %rd1;
INNER: ld.global.f32 %f1, [%rd2];
add.s64 %rd2, %rd2, 128;
setp.gt.f32 %p1, %f1, 0f00000000;
@%p1 bra INNER;
add.s32 %r1, %r1, 1;
setp.lt.s32 %p2, %r1, 8;
@%p2 bra OUTER;
ret;)");
  ExecuteLimits Few;
  Few.MaxRequests = 58;
  const WarpTrace T = K.run({}, 3, 2, Few);
  const unsigned Inner = unsigned(llvm::find_if(K.C.Loops, [](const Loop &L) { return L.Parent >= 0; }) - K.C.Loops.begin());
  EXPECT_DOUBLE_EQ(T.BlockWeight[K.C.Loops[Inner].Header], 8 * 16);
  EXPECT_FALSE(T.Loops[Inner].Hurried);
  Few.MaxRequests = 8; // of the first
  EXPECT_TRUE(K.run({}, 3, 2, Few).Loops[Inner].Hurried) << "how long it would have run nobody knows";
}

/// A tree that threads go down by a stack: near ones go the same way, whatever they compare with.
TEST(Execute, NearThreadsGoDownATreeTogether) {
  Kernel K = fromText(R"(.local .align 4 .b8 stack[160];
ld.param.u64 %rd1, [p];
mov.u64 %rd5, stack;
cvta.local.u64 %rd6, %rd5;
cvta.to.local.u64 %rd5, %rd6;
mov.u32 %r4, %laneid;
cvt.rn.f32.u32 %f2, %r4;
mov.u32 %r5, 0;
st.local.u32 [%rd5], %r5;
mov.u32 %r1, 1;
LOOP: add.s32 %r1, %r1, -1;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd5, %rd2;
ld.local.u32 %r2, [%rd3];
mul.wide.s32 %rd2, %r2, 32;
add.s64 %rd4, %rd1, %rd2;
ld.global.f32 %f1, [%rd4];
mul.f32 %f3, %f1, %f2;
setp.gt.f32 %p1, %f3, 0f3f800000;
@%p1 bra NEXT;
ld.global.u32 %r3, [%rd4+24];
st.local.u32 [%rd3], %r3;
add.s32 %r3, %r3, 1;
st.local.u32 [%rd3+4], %r3;
add.s32 %r1, %r1, 2;
NEXT: setp.gt.s32 %p2, %r1, 0;
@%p2 bra LOOP;
ret;)");
  unsigned Loads = 0;
  size_t Most = 0;
  for (const Request &R : K.run().Requests)
    if (R.Mem == Space::Global) {
      ++Loads;
      const std::set<uint64_t> Nodes(R.Address.begin(), R.Address.end());
      Most = std::max(Most, Nodes.size());
      for (unsigned Lane = 0; Lane < 32; ++Lane)
        EXPECT_TRUE(!(R.Mask >> Lane & 1) || R.Address[Lane] == R.Address[Lane / 8 * 8]);
    }
  EXPECT_GT(Loads, 8u);
  EXPECT_EQ(Most, 4u);
}

/// Of 64 records, those in which an unknown value is as \p Relation says, "eq.s32 %p1, %r2, 7", for all lanes.
static size_t timesTrue(const std::string &Relation, int Stride) {
  Kernel K = fromText("ld.param.u64 %rd1, [p];\nmov.u32 %r1, 0;\nLOOP:\nld.global.u32 %r2, [%rd1];\nsetp." + Relation +
                      ";\n@!%p1 bra SKIP;\nst.global.u32 [%rd1+4], %r2;\nSKIP:\nadd.s64 %rd1, %rd1, " + std::to_string(Stride) +
                      ";\nadd.s32 %r1, %r1, 1;\nsetp.lt.s32 %p2, %r1, 64;\n@%p2 bra LOOP;\nret;");
  return llvm::count_if(K.run().Requests, [&](const Request &R) { return K.F.Body[R.Instruction].isStore(); });
}

/// What all lanes ask of one unknown value: as often yes as no, wherever the values lie.
TEST(Execute, AnUnknownValueForAllLanesIsTrueEverySecondTime) {
  for (int Stride : {4, 12, 32, 40}) {
    SCOPED_TRACE(Stride);
    EXPECT_EQ(timesTrue("eq.s32 %p1, %r2, 0", Stride), 32u);
    EXPECT_EQ(timesTrue("gt.s32 %p1, %r2, 9", Stride), 32u);
    EXPECT_EQ(timesTrue("eq.s32 %p1, %r2, 7", Stride), 21u) << "one kind of several";
    EXPECT_EQ(timesTrue("ne.s32 %p1, %r2, 7", Stride), 43u);
    EXPECT_LE(timesTrue("lt.s32 %p1, %r2, 1", Stride), 1u) << "a count is seldom zero, however compilers ask";
    EXPECT_LE(timesTrue("le.s32 %p1, %r2, 0", Stride), 1u);
    EXPECT_GE(timesTrue("ge.s32 %p1, %r2, 1", Stride), 63u);
  }
}

/// The same where each lane asks of its own: near ones are alike, and a third are of one kind in the mean.
/// Of lanes that load an integer of their own in %r2, those for which \p Relation holds.
static double shareThatPasses(const std::string &Relation) {
  Kernel K = fromText("ld.param.u64 %rd1, [p];\nmov.u32 %r4, %laneid;\nmul.wide.u32 %rd2, %r4, 4;\nadd.s64 %rd1, %rd1, %rd2;\nmov.u32 %r1, 0;\nLOOP:\n"
                      "ld.global.u32 %r2, [%rd1];\nsetp." + Relation +
                      ";\n@!%p1 bra SKIP;\nst.global.u32 [%rd1+4], %r2;\nSKIP:\nadd.s64 %rd1, %rd1, 128;\nadd.s32 %r1, %r1, 1;\n"
                      "setp.lt.s32 %p2, %r1, 1024;\n@%p2 bra LOOP;\nret;");
  double Stored = 0, Loaded = 0; // lanes
  for (const Request &R : K.run().Requests)
    (K.F.Body[R.Instruction].isStore() ? Stored : Loaded) += std::popcount(R.Mask);
  return Stored / Loaded;
}

TEST(Execute, AThirdIsOfAKind) {
  EXPECT_NEAR(shareThatPasses("eq.s32 %p1, %r2, 7"), 1 / 3.0, 0.08);
  EXPECT_NEAR(shareThatPasses("ne.s32 %p1, %r2, 7"), 2 / 3.0, 0.08);
  EXPECT_NEAR(shareThatPasses("eq.s32 %p1, %r2, 0"), 0.5, 0.08);
}

TEST(Execute, OneInEightIsOutsideOfARange) {
  EXPECT_NEAR(shareThatPasses("gt.u32 %p1, %r2, 1023"), 1 / 8.0, 0.05);
  EXPECT_NEAR(shareThatPasses("le.u32 %p1, %r2, 1023"), 7 / 8.0, 0.05);
  EXPECT_NEAR(shareThatPasses("lt.u32 %p1, %r2, 1024"), 7 / 8.0, 0.05);
  EXPECT_NEAR(shareThatPasses("ge.u32 %p1, %r2, 1024"), 1 / 8.0, 0.05);
  EXPECT_NEAR(shareThatPasses("gt.s32 %p1, %r2, 1023"), 0.5, 0.08) << "a threshold";
  EXPECT_NEAR(shareThatPasses("gt.u32 %p1, %r2, 3"), 0.5, 0.08);
}

TEST(Execute, OfTwoLoadedNumbersEitherMayBeGreater) {
  // The second one is known, and is less than nearly all elements' numbers.
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r4, %laneid;
mul.wide.u32 %rd2, %r4, 8;
add.s64 %rd1, %rd1, %rd2;
mov.u32 %r1, 0;
LOOP:
ld.global.u32 %r2, [%rd1];
ld.global.u32 %r3, [%rd1+4];
setp.gt.s32 %p1, %r2, %r3;
@%p1 bra SKIP;
st.global.u32 [%rd1+4], %r2;
SKIP:
add.s64 %rd1, %rd1, 256;
add.s32 %r1, %r1, 1;
setp.lt.s32 %p2, %r1, 1024;
@%p2 bra LOOP;
ret;)");
  LaunchFacts L;
  L.Elements = 1 << 20;
  L.Known = {[](unsigned, uint64_t Offset) { return Offset % 8 ? std::optional(KnownInteger{850}) : std::nullopt; }};
  double Stored = 0, Loaded = 0;
  for (const Request &R : K.run(L).Requests)
    (K.F.Body[R.Instruction].isStore() ? Stored : Loaded) += std::popcount(R.Mask);
  EXPECT_NEAR(2 * Stored / Loaded, 0.5, 0.1);
}

TEST(Execute, BranchAsLikelyAsTold) {
  // The body is behind the branch in one, and where it goes in the other.
  const char *const Behind = R"(ld.param.u64 %rd1, [p];
ld.global.f32 %f1, [%rd1];
mov.u32 %r1, %laneid;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
setp.gt.f32 %p1, %f1, 0f00000000;
@%p1 bra NEXT;
st.global.f32 [%rd1+4], %f1;
NEXT: st.global.f32 [%rd1+8], %f1;
ret;)";
  const char *const There = R"(ld.param.u64 %rd1, [p];
ld.global.f32 %f1, [%rd1];
mov.u32 %r1, %laneid;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
setp.gt.f32 %p1, %f1, 0f00000000;
@%p1 bra BODY;
bra NEXT;
BODY: st.global.f32 [%rd1+4], %f1;
NEXT: st.global.f32 [%rd1+8], %f1;
ret;)";
  for (const char *Text : {Behind, There}) {
    Kernel K = fromText(Text);
    auto Lanes = [&](double Probability) {
      LaunchFacts L;
      L.BodyProbability = Probability;
      WarpTrace T = K.run(L);
      return T.Requests.size() < 3 ? 0u : unsigned(__builtin_popcount(T.Requests[1].Mask));
    };
    EXPECT_EQ(Lanes(0), 0u);
    EXPECT_EQ(Lanes(1), 32u);
    EXPECT_GT(Lanes(0.9), 22u);
    EXPECT_LT(Lanes(0.9), 32u);
  }
}

TEST(Execute, CallsAreInlined) {
  for (const std::string Compiler : Compilers) {
    Kernel K = fromFile("flow." + Compiler + ".ptx", "calls");
    WarpTrace T = K.run();
    EXPECT_TRUE(T.Warnings.empty());
    ASSERT_EQ(T.Requests.size(), 3u);
    EXPECT_EQ(T.Requests[0].Address[3], Range + (64 + 3) * 8);
    EXPECT_EQ(T.Requests[1].Address[3], Range + (64 + 3 + 64) * 8);
    EXPECT_EQ(T.Requests[2].Address[3], 2 * Range + (64 + 3) * 4);
    const Instruction &Load = K.F.Body[T.Requests[0].Instruction];
    ASSERT_FALSE(Load.InlinedAt.empty());
    EXPECT_EQ(Load.Loc.Line, 45u);
    EXPECT_EQ(Load.InlinedAt.back().Line, 48u);
  }
}

TEST(Execute, CallsThatStay) {
  Module M = parsed(R"(.visible .func (.param .b32 r) f(.param .b32 a)
{ .reg .b32 %r<4>; .param .b32 x; .param .b32 y;
ld.param.b32 %r1, [a]; st.param.b32 [x], %r1; call (y), f, (x); ld.param.b32 %r2, [y]; st.param.b32 [r], %r2; ret; }
.visible .entry k() { .reg .b32 %r<4>; .reg .b64 %rd<2>; .param .b32 x; .param .b32 y;
st.param.b32 [x], 1; call (y), f, (x); call unknown; call %rd1, (x), proto; ret; }
)");
  const Function *F = M.find("k");
  ASSERT_TRUE(F);
  Kernel K(inlineCalls(M, *F));
  WarpTrace T = K.run();
  // The recursion, the missing body and the pointer are named.
  EXPECT_GE(T.Warnings.size(), 3u);
  EXPECT_TRUE(llvm::is_contained(T.Warnings, "the call of f is not followed"));
  EXPECT_TRUE(llvm::is_contained(T.Warnings, "the call of unknown is not followed"));
}

TEST(Execute, PointersSurviveLocalMemory) {
  for (const std::string Compiler : Compilers) {
    Kernel K = fromFile("flow." + Compiler + ".ptx", "depot");
    LaunchFacts L;
    L.Arguments.resize(5);
    L.Arguments[4] = 1;
    WarpTrace T = K.run(L, 0, 0);
    ASSERT_GE(T.Requests.size(), 3u);
    const Request &Load = T.Requests[T.Requests.size() - 2];
    EXPECT_EQ(Load.Mem, Space::Global);
    EXPECT_FALSE(Load.DependsOnLoad);
    // b[63 - lane], through a pointer and an index that were stored and loaded.
    EXPECT_EQ(Load.Address[1], 2 * Range + 62 * 4) << Compiler;
    auto Local = llvm::find_if(T.Requests, [](const Request &R) { return R.Mem == Space::Local; });
    ASSERT_NE(Local, T.Requests.end());
    EXPECT_EQ(sectors(K, *Local), 8u) << "local memory is interleaved by lane";
  }
}

TEST(Execute, ShuffleBallotAtomic) {
  for (const std::string Compiler : Compilers) {
    Kernel K = fromFile("flow." + Compiler + ".ptx", "warp");
    WarpTrace T = K.run({}, 0, 1);
    ASSERT_EQ(T.Requests.size(), 4u);
    EXPECT_EQ(T.Requests[0].Address[4], Range + (32 + 5) * 4) << "shfl.down by 1";
    EXPECT_EQ(T.Requests[0].Address[31], Range + (32 + 31) * 4);
    EXPECT_FALSE(T.Requests[0].DependsOnLoad);
    // Lanes that add to one counter get consecutive slots, and warps follow each other.
    EXPECT_FALSE(T.Requests[3].DependsOnLoad);
    std::vector<uint64_t> Slots = activeAddresses(T.Requests[3]);
    ASSERT_GT(Slots.size(), 1u);
    for (size_t I = 1; I < Slots.size(); ++I)
      EXPECT_EQ(Slots[I], Slots[0] + 4 * I);
    EXPECT_EQ(activeAddresses(K.run({}, 0, 2).Requests[3]).at(0), Slots[0] + 32 * 4);
  }
}

/// p[index[i]], 16 bytes each.
const char *const Gather = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 .ptr .global k_param_0, .param .u64 .ptr .global k_param_1)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<12>;
  .reg .f32 %f<2>;
  ld.param.u64 %rd1, [k_param_0];
  ld.param.u64 %rd2, [k_param_1];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.s32 %r4, %r2, %r3, %r1;
  mul.wide.s32 %rd3, %r4, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r5, [%rd4];
  mul.wide.s32 %rd5, %r5, 16;
  add.s64 %rd6, %rd1, %rd5;
  ld.global.f32 %f1, [%rd6+8];
  ret;
}
)";

TEST(Execute, IndicesStayInTheirArray) {
  Module M = parsed(Gather);
  Kernel K(*M.find("k"));
  LaunchFacts L;
  L.Arrays = {{{300 * 16}}};
  WarpTrace T = K.run(L, 0, 0);
  ASSERT_EQ(T.Requests.size(), 2u);
  EXPECT_TRUE(T.Requests[1].DependsOnLoad);
  for (uint64_t A : T.Requests[1].Address) {
    EXPECT_LT(A, Range + 300 * 16);
    EXPECT_EQ((A - Range) % 16, 8u);
  }
}

TEST(Execute, IntegersThatAreKnown) {
  Module M = parsed(Gather); // its indices are those of parameter 1
  Kernel K(*M.find("k"));
  LaunchFacts L;
  bool Scattered = false;
  L.Known = {nullptr, [&](unsigned, uint64_t Offset) -> std::optional<KnownInteger> {
               return Offset / 4 % 4 == 3 ? std::nullopt : std::optional(KnownInteger{int64_t(Offset / 4 * 2), Scattered});
             }};
  auto Check = [&](const std::array<uint64_t, 32> &Addresses) {
    for (unsigned Lane = 0; Lane < 32; ++Lane) {
      if (thread(Lane) % 4 != 3) {
        EXPECT_EQ((Addresses[Lane] - Range) / 16, thread(Lane) * 2) << Lane;
      }
    }
  };
  WarpTrace T = K.run(L);
  ASSERT_EQ(T.Requests.size(), 2u);
  Check(T.Requests[1].Address);
  EXPECT_TRUE(T.Requests[1].DependsOnLoad) << "some of them are not";
  L.Known[1] = [&](unsigned, uint64_t Offset) { return std::optional(KnownInteger{int64_t(Offset / 4 * 2), Scattered}); };
  EXPECT_FALSE(K.run(L).Requests[1].DependsOnLoad);
  Scattered = true;
  T = K.run(L);
  Check(T.Requests[1].Address);
  EXPECT_TRUE(T.Requests[1].DependsOnLoad) << "as random accesses";
  // The second field of records of 16 bytes, alone in its array.
  L.Arrays = {{}, {{0, 4, 16, {4, 5, 6, 7}}}};
  L.Known[1] = [](unsigned, uint64_t Offset) { return std::optional(KnownInteger{Offset % 16 == 4 ? int64_t(Offset / 16 * 2) : -1, false}); };
  Check(K.run(L).Requests[1].Address);
}

TEST(Execute, SubscriptsInARecordAreNoRandomAccess) {
  // p[i].x; p[i].w[kind[i]]: w is four floats at byte 8 of 24.
  Module M = parsed(R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 .ptr .global k_param_0, .param .u64 .ptr .global k_param_1)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<12>;
  .reg .f32 %f<3>;
  ld.param.u64 %rd1, [k_param_0];
  ld.param.u64 %rd2, [k_param_1];
  mov.u32 %r1, %tid.x;
  mul.wide.s32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r5, [%rd4];
  mul.wide.s32 %rd5, %r1, 24;
  add.s64 %rd6, %rd1, %rd5;
  ld.global.f32 %f1, [%rd6];
  mul.wide.s32 %rd7, %r5, 4;
  add.s64 %rd8, %rd6, %rd7;
  ld.global.f32 %f2, [%rd8+8];
  ret;
}
)");
  Kernel K(*M.find("k"));
  LaunchFacts L;
  ArrayPlace Records{24 * 1000, 24, 24, {}, 1000, 24};
  for (uint32_t I = 0; I < 24; ++I)
    Records.Source.push_back(I);
  L.Arrays = {{Records}};
  EXPECT_TRUE(K.run(L).Requests.at(2).DependsOnLoad) << "any integers";
  L.Known = {nullptr, [](unsigned, uint64_t) { return std::optional(KnownInteger{4, false, false, true}); }};
  WarpTrace T = K.run(L);
  ASSERT_EQ(T.Requests.size(), 3u);
  EXPECT_FALSE(T.Requests[2].DependsOnLoad);
  std::set<uint64_t> Subscripts;
  for (unsigned Lane = 0; Lane < 32; ++Lane)
    Subscripts.insert((T.Requests[2].Address[Lane] - T.Requests[1].Address[Lane] - 8) / 4);
  EXPECT_EQ(Subscripts, (std::set<uint64_t>{0, 1, 2, 3}));
}

/// The addresses of the gather when the field at byte 4 of 16, an index, lies \p Apart bytes after the next one's.
static std::array<uint64_t, 32> gathered(unsigned Apart, unsigned Offset, ArrayPlace Place) {
  std::string Text = Gather; // its indices are those of parameter 1
  auto replace = [&](llvm::StringRef From, const std::string &To) {
    size_t At = Text.find(From);
    ASSERT_NE(At, std::string::npos);
    Text.replace(At, From.size(), To);
  };
  replace("%r4, 4;", "%r4, " + std::to_string(Apart) + ";");
  replace("[%rd4];", "[%rd4+" + std::to_string(Offset) + "];");
  Module M = parsed(Text.c_str());
  Kernel K(*M.find("k"));
  LaunchFacts L;
  L.Arrays = {{}, {std::move(Place)}};
  WarpTrace T = K.run(L, 5, 1);
  return T.Requests.size() == 2 ? T.Requests[1].Address : std::array<uint64_t, 32>();
}

TEST(Execute, AFieldHoldsTheSameInEachLayout) {
  ArrayPlace Records{0, 16, 16, {}}, Alone{0, 4, 16, {4, 5, 6, 7}}, Aligned{0, 32, 16, {}};
  for (unsigned Byte = 0; Byte < 16; ++Byte)
    Records.Source.push_back(Byte), Aligned.Source.push_back(Byte);
  auto Expected = gathered(16, 4, Records);
  EXPECT_NE(Expected[0], Expected[1]);
  EXPECT_EQ(gathered(4, 0, Alone), Expected);
  EXPECT_EQ(gathered(32, 4, Aligned), Expected);
  ArrayPlace Pitched{0, 4, 16, {0, 1, 2, 3, 4, 5, 6, 7}};
  Pitched.PitchBytes = 1 << 20;
  EXPECT_EQ(gathered(4, 1 << 20, Pitched), Expected);
  EXPECT_NE(gathered(4, 0, Pitched), Expected);
  EXPECT_NE(gathered(4, 0, {}), Expected); // nothing is known
  EXPECT_NE(gathered(16, 8, Records), Expected); // another field
}

TEST(Execute, LocalDataLieNearTheThread) {
  Module M = parsed(Gather);
  Kernel K(*M.find("k"));
  LaunchFacts L;
  L.LocalData = true;
  WarpTrace T = K.run(L, 3, 1);
  ASSERT_EQ(T.Requests.size(), 2u);
  EXPECT_FALSE(T.Requests[1].DependsOnLoad);
  int64_t First = 3 * int64_t(L.Block.count()) + 32;
  for (unsigned Lane = 0; Lane < 32; ++Lane)
    EXPECT_LE(std::abs(int64_t(T.Requests[1].Address[Lane] - Range) / 16 - First - Lane), 8);
}

/// Which of 1,024 owners in order a thread of many looks at is within \p Most of where the thread is in the grid.
static void ownersLieNear(const char *Text, int64_t Most) {
  Module M = parsed(Text);
  Kernel K(*M.find("k"));
  LaunchFacts L;
  L.LocalData = true;
  L.Arrays = {{{1024 * 16, 0, 0, {}, 1024}}};
  const uint64_t Threads = L.Grid.count() * L.Block.count();
  WarpTrace T = K.run(L, 512, 1);
  ASSERT_EQ(T.Requests.size(), 2u);
  const int64_t Owner = int64_t((512 * L.Block.count() + 32) * 1024 / Threads);
  for (unsigned Lane = 0; Lane < 32; ++Lane)
    EXPECT_LE(std::abs(int64_t(T.Requests[1].Address[Lane] - Range) / 16 - Owner), Most);
}

TEST(Execute, LocalDataLieAsFarInASmallArrayAsTheThreadInTheGrid) {
  // Who owns a thread's element: one of 1,024 owners of 2^18 elements each, in order.
  ownersLieNear(Gather, 9);
}

TEST(Execute, AnIndexIsOfTheArrayThatAPitchChooses) {
  // p.f[ctaid.y][owner[i]]: which of the arrays says a product of two registers, which the index does not go through.
  std::string Text = Gather;
  Text.replace(Text.find(".param .u64 .ptr .global k_param_1"), 0, ".param .u64 pitch, ");
  const llvm::StringRef Sum = "add.s64 %rd6, %rd1, %rd5;";
  Text.replace(Text.find(Sum.data()), Sum.size(), "ld.param.u64 %rd7, [pitch];\n  mov.u32 %r6, %ctaid.y;\n  cvt.u64.u32 %rd8, %r6;\n"
                                                   "  mul.lo.s64 %rd9, %rd8, %rd7;\n  add.s64 %rd10, %rd1, %rd9;\n  add.s64 %rd6, %rd10, %rd5;");
  ownersLieNear(Text.c_str(), 9);
}

TEST(Execute, AnIndexIsOfTheArrayHalfATileAhead) {
  std::string Text = Gather; // the same, of the element at owner[i] ^ 32
  const llvm::StringRef Scale = "mul.wide.s32 %rd5, %r5, 16;";
  Text.replace(Text.find(Scale.data()), Scale.size(), "xor.b32 %r6, %r5, 32;\n  mul.wide.s32 %rd5, %r6, 16;");
  ownersLieNear(Text.c_str(), 9 + 32);
}

TEST(Execute, NoMoreIsAppendedThanAListHolds) {
  // for (j = 0; j < 64; ++j) if (p[i + j] > p[i]) list[atomicAdd(count, 1)] = j;
  Module M = parsed(R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 .ptr .global p, .param .u64 .ptr .global list, .param .u64 .ptr .global count)
{
.reg .pred %p<3>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
.reg .f32 %f<3>;
ld.param.u64 %rd1, [p];
ld.param.u64 %rd2, [list];
ld.param.u64 %rd3, [count];
mov.u32 %r1, %tid.x;
mov.u32 %r2, 0;
mul.wide.u32 %rd4, %r1, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.f32 %f1, [%rd5];
LOOP: ld.global.f32 %f2, [%rd5+4];
setp.le.f32 %p1, %f2, %f1;
@%p1 bra NEXT;
atom.global.add.u32 %r3, [%rd3], 1;
mul.wide.u32 %rd6, %r3, 4;
add.s64 %rd7, %rd2, %rd6;
st.global.u32 [%rd7], %r2;
NEXT: add.s64 %rd5, %rd5, 4;
add.s32 %r2, %r2, 1;
setp.lt.u32 %p2, %r2, 64;
@%p2 bra LOOP;
ret;
})");
  Kernel K(*M.find("k"));
  auto lanesThatAppend = [&](uint64_t Room) {
    LaunchFacts L;
    L.Grid = {64, 1, 1};
    L.Arrays = {{}, {{Room * 4, 0, 0, {}, Room}}};
    uint64_t Lanes = 0;
    for (unsigned Block = 0; Block < 64; ++Block)
      for (const Request &R : K.run(L, Block, 0).Requests)
        if (K.F.Body[R.Instruction].Op == Opcode::Atom)
          Lanes += std::popcount(R.Mask);
    return Lanes;
  };
  constexpr uint64_t Visits = 64 * 32 * 64, Warps = 8; // of a block, of which one is run
  EXPECT_GT(lanesThatAppend(0), Visits / 4) << "nobody knows";
  EXPECT_GT(lanesThatAppend(Visits * Warps), Visits / 4) << "there is room for all";
  EXPECT_LT(lanesThatAppend(Visits * Warps / 100), Visits / 50);
  EXPECT_GT(lanesThatAppend(Visits * Warps / 100), Visits / 200);
}

TEST(Execute, NearThreadsShareTheRowOfAGrid) {
  // p[int(y) * width + int(x)], with coordinates that are loaded
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
ld.param.u32 %r1, [n];
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mov.u32 %r4, %tid.x;
mad.lo.s32 %r5, %r2, %r3, %r4;
mul.wide.s32 %rd2, %r5, 8;
add.s64 %rd3, %rd1, %rd2;
ld.global.f32 %f1, [%rd3];
ld.global.f32 %f2, [%rd3+4];
cvt.rzi.s32.f32 %r6, %f1;
cvt.rzi.s32.f32 %r7, %f2;
mad.lo.s32 %r8, %r7, %r1, %r6;
mul.wide.s32 %rd4, %r8, 16;
add.s64 %rd5, %rd1, %rd4;
ld.global.f32 %f3, [%rd5];
ret;)");
  LaunchFacts L;
  L.LocalData = true;
  L.Arguments = {std::nullopt, 1000};
  WarpTrace T = K.run(L, 40, 1);
  ASSERT_EQ(T.Requests.size(), 3u);
  std::set<uint64_t> Rows;
  for (uint64_t A : T.Requests[2].Address)
    Rows.insert((A - Range) / 16 / 1000);
  EXPECT_LE(Rows.size(), 3u);
}

TEST(Execute, HashesOfLocalDataLieAnywhere) {
  // p[(keys[i] * 2654435761) & 0xfffff]
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %ntid.x;
mov.u32 %r3, %tid.x;
mad.lo.s32 %r4, %r1, %r2, %r3;
mul.wide.s32 %rd2, %r4, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r5, [%rd3];
mul.lo.s32 %r6, %r5, -1640531535;
and.b32 %r7, %r6, 1048575;
mul.wide.u32 %rd4, %r7, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.u32 %r8, [%rd5];
mul.wide.u32 %rd6, %r8, 4;
add.s64 %rd7, %rd1, %rd6;
ld.global.u32 %r9, [%rd7];
ret;)");
  LaunchFacts L;
  L.LocalData = true;
  L.Elements = 1 << 20;
  WarpTrace T = K.run(L, 3, 1);
  ASSERT_EQ(T.Requests.size(), 3u);
  EXPECT_TRUE(T.Requests[1].DependsOnLoad);
  EXPECT_TRUE(T.Requests[2].DependsOnLoad) << "and so do the numbers that are found there";
}

struct ValueCase {
  const char *Body; ///< computes %r9
  uint64_t (*Value)(uint64_t Lane);
};

TEST(Execute, Arithmetic) {
  const ValueCase Cases[] = {
      {"mov.u32 %r9, %laneid;", [](uint64_t L) { return L; }},
      {"mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %ctaid.x;\nmad.lo.s32 %r9, %r3, %r2, %r1;",
       [](uint64_t L) { return thread(unsigned(L)); }},
      {"mov.u32 %r1, %laneid;\nsub.s32 %r2, 5, %r1;\nshr.s32 %r3, %r2, 31;\nand.b32 %r9, %r3, 7;",
       [](uint64_t L) { return uint64_t(L > 5 ? 7 : 0); }},
      {"mov.u32 %r1, %laneid;\nsub.s32 %r2, %r1, 8;\ndiv.s32 %r3, %r2, 3;\nadd.s32 %r9, %r3, 10;",
       [](uint64_t L) { return uint64_t((int(L) - 8) / 3 + 10); }},
      {"mov.u32 %r1, %laneid;\nsub.s32 %r2, %r1, 8;\nrem.s32 %r3, %r2, 3;\nadd.s32 %r9, %r3, 10;",
       [](uint64_t L) { return uint64_t((int(L) - 8) % 3 + 10); }},
      {"mov.u32 %r1, %laneid;\nmul.hi.s32 %r2, %r1, 1431655766;\nshr.u32 %r3, %r2, 31;\nadd.s32 %r9, %r2, %r3;",
       [](uint64_t L) { return L / 3; }},
      {"mov.u32 %r1, %laneid;\ncvt.u16.u32 %rs1, %r1;\nmul.hi.u16 %rs2, %rs1, 9363;\nmul.lo.s16 %rs3, %rs2, 7;\n"
       "sub.s16 %rs4, %rs1, %rs3;\ncvt.u32.u16 %r9, %rs4;",
       [](uint64_t L) { return L % 7; }},
      {"mov.u32 %r1, %laneid;\nbfe.u32 %r9, %r1, 1, 3;", [](uint64_t L) { return L >> 1 & 7; }},
      {"mov.u32 %r1, %laneid;\nbfe.s32 %r2, %r1, 0, 3;\nadd.s32 %r9, %r2, 4;",
       [](uint64_t L) { return (L & 7) < 4 ? (L & 7) + 4 : (L & 7) - 4; }},
      {"mov.u32 %r1, %laneid;\nbfi.b32 %r9, %r1, 256, 2, 5;", [](uint64_t L) { return 256 + L * 4; }},
      {"mov.u32 %r1, %laneid;\nbmsk.clamp.b32 %r9, 0, %r1;", [](uint64_t L) { return (uint64_t(1) << L) - 1; }},
      {"mov.u32 %r1, %laneid;\nadd.s32 %r2, %r1, 32;\nbmsk.wrap.b32 %r9, %r2, 3;",
       [](uint64_t L) { return uint64_t(7) << L & UINT32_MAX; }},
      {"mov.u32 %r1, %laneid;\nbmsk.clamp.b32 %r2, 1, 99;\nand.b32 %r9, %r1, %r2;", [](uint64_t L) { return L & ~uint64_t(1); }},
      {"mov.u32 %r1, %laneid;\nszext.clamp.u32 %r9, %r1, 3;", [](uint64_t L) { return L & 7; }},
      {"mov.u32 %r1, %laneid;\nszext.wrap.s32 %r2, %r1, 35;\nadd.s32 %r9, %r2, 4;",
       [](uint64_t L) { return (L & 7) < 4 ? (L & 7) + 4 : (L & 7) - 4; }},
      {"mov.u32 %r1, %laneid;\npopc.b32 %r9, %r1;", [](uint64_t L) { return uint64_t(__builtin_popcountll(L)); }},
      {"mov.u32 %r1, %laneid;\nor.b32 %r2, %r1, 1;\nclz.b32 %r9, %r2;",
       [](uint64_t L) { return uint64_t(__builtin_clz(unsigned(L | 1))); }},
      {"mov.u32 %r1, %laneid;\nadd.s32 %r2, %r1, 1;\nbfind.u32 %r9, %r2;",
       [](uint64_t L) { return uint64_t(31 - __builtin_clz(unsigned(L + 1))); }},
      {"mov.u32 %r1, %laneid;\nbrev.b32 %r2, %r1;\nshr.u32 %r9, %r2, 27;",
       [](uint64_t L) { return (L & 1) << 4 | (L & 2) << 2 | (L & 4) | (L & 8) >> 2 | (L & 16) >> 4; }},
      {"mov.u32 %r1, %laneid;\nmov.u32 %r2, 6;\nlop3.b32 %r9, %r1, %r2, %r1, 0x3c;", [](uint64_t L) { return L ^ 6; }},
      {"mov.u32 %r1, %laneid;\nprmt.b32 %r9, %r1, 0, 0x4404;", [](uint64_t L) { return L << 8; }},
      {"mov.u32 %r1, %laneid;\nshl.b32 %r2, %r1, 31;\nshf.l.wrap.b32 %r9, %r2, %r1, 1;",
       [](uint64_t L) { return L << 1 | (L & 1); }},
      {"mov.u32 %r1, %laneid;\nmov.b64 %rd1, {%r1, %r1};\nshr.u64 %rd2, %rd1, 31;\nmov.b64 {%r9, _}, %rd2;",
       [](uint64_t L) { return L << 1; }},
      {"mov.u32 %r1, %laneid;\nmin.s32 %r2, %r1, 9;\nmax.s32 %r9, %r2, 4;",
       [](uint64_t L) { return std::clamp<uint64_t>(L, 4, 9); }},
      {"mov.u32 %r1, %laneid;\nsub.s32 %r2, %r1, 16;\nabs.s32 %r9, %r2;",
       [](uint64_t L) { return uint64_t(std::abs(int(L) - 16)); }},
      {"mov.u32 %r1, %laneid;\nsetp.gt.u32 %p1, %r1, 3;\nsetp.lt.and.u32 %p2|%p3, %r1, 9, %p1;\nselp.b32 %r9, 1, 0, "
       "%p2;",
       [](uint64_t L) { return uint64_t(L > 3 && L < 9); }},
      {"mov.u32 %r1, %laneid;\nsetp.lt.u32 %p1, %r1, 9;\nsetp.gt.or.u32 %p2, %r1, 20, !%p1;\nselp.b32 %r9, 1, 0, %p2;",
       [](uint64_t L) { return uint64_t(L >= 9); }},
      {"mov.u32 %r1, %laneid;\nset.lt.u32.u32 %r2, %r1, 4;\nneg.s32 %r9, %r2;",
       [](uint64_t L) { return uint64_t(L < 4); }},
      {"mov.u32 %r1, %laneid;\nadd.s32 %r2, %r1, -1;\nadd.cc.u32 %r3, %r2, 1;\naddc.u32 %r9, 0, 0;",
       [](uint64_t L) { return uint64_t(L == 0); }},
      {"mov.u32 %r1, %laneid;\nmul.wide.s32 %rd1, %r1, -4;\nneg.s64 %rd2, %rd1;\ncvt.u32.u64 %r9, %rd2;",
       [](uint64_t L) { return L * 4; }},
      {"mov.u32 %r1, %laneid;\nmad.wide.u32 %rd1, %r1, 8, 3;\ncvt.u32.u64 %r9, %rd1;",
       [](uint64_t L) { return L * 8 + 3; }},
      {"mov.u32 %r1, %laneid;\nshfl.sync.bfly.b32 %r9, %r1, 3, 31, -1;", [](uint64_t L) { return L ^ 3; }},
      {"mov.u32 %r1, %laneid;\nshfl.sync.up.b32 %r9, %r1, 2, 0, -1;", [](uint64_t L) { return L < 2 ? L : L - 2; }},
      {"mov.u32 %r1, %laneid;\nshfl.sync.idx.b32 %r9, %r1, 1, 0x1c03, -1;", [](uint64_t L) { return L / 4 * 4 + 1; }},
      {"mov.u32 %r1, %laneid;\nredux.sync.add.s32 %r9, %r1, -1;", [](uint64_t) { return uint64_t(31 * 16); }},
      {"mov.u32 %r1, %laneid;\nshr.u32 %r2, %r1, 4;\nmatch.any.sync.b32 %r3, %r2, -1;\nand.b32 %r9, %r3, 65535;",
       [](uint64_t L) { return uint64_t(L < 16 ? 65535 : 0); }},
      {"ld.param.u32 %r9, [n];", [](uint64_t) { return uint64_t(4096); }},
      {"mov.u64 %rd1, p;\nld.param.u32 %r9, [%rd1+8];", [](uint64_t) { return uint64_t(4096); }},
  };
  for (const ValueCase &Case : Cases) {
    const std::vector<uint64_t> Values = stored(Case.Body);
    for (unsigned L = 0; L < 32; ++L)
      EXPECT_EQ(Values[L], Case.Value(L)) << Case.Body << "\nlane " << L;
  }
}

/// A place that follows from the thread's is computed, in floating point too.
TEST(Execute, FloatingPointArithmetic) {
  const char *const Lane = "mov.u32 %r1, %laneid;\ncvt.rn.f32.u32 %f1, %r1;\n";
  const ValueCase Cases[] = {
      {"fma.rn.f32 %f2, %f1, 0f3F000000, 0f40000000;\ncvt.rzi.s32.f32 %r9, %f2;", [](uint64_t L) { return L / 2 + 2; }},
      {"add.f32 %f2, %f1, 0f3F800000;\nsqrt.rn.f32 %f3, %f2;\ncvt.rmi.s32.f32 %r9, %f3;",
       [](uint64_t L) { return uint64_t(std::sqrt(float(L) + 1)); }},
      {"mul.f32 %f2, %f1, 0f3F400000;\ncvt.rni.s32.f32 %r9, %f2;", [](uint64_t L) { return uint64_t(std::nearbyint(0.75 * double(L))); }},
      {"mul.f32 %f2, %f1, 0f3F400000;\ncvt.rpi.f32.f32 %f3, %f2;\ncvt.rzi.u32.f32 %r9, %f3;",
       [](uint64_t L) { return uint64_t(std::ceil(0.75 * double(L))); }},
      {"sub.f32 %f2, %f1, 0f41000000;\nabs.f32 %f3, %f2;\nmin.f32 %f4, %f3, 0f40A00000;\ncvt.rzi.s32.f32 %r9, %f4;",
       [](uint64_t L) { return uint64_t(std::min(std::abs(int(L) - 8), 5)); }},
      {"sub.f32 %f2, %f1, 0f41000000;\ncvt.rzi.u32.f32 %r9, %f2;", [](uint64_t L) { return L < 8 ? 0 : L - 8; }},
      {"mul.sat.f32 %f2, %f1, 0f3E000000;\nmul.f32 %f3, %f2, 0f41000000;\ncvt.rzi.s32.f32 %r9, %f3;",
       [](uint64_t L) { return std::min<uint64_t>(L, 8); }},
      {"setp.lt.f32 %p1, %f1, 0f40E00000;\nselp.b32 %r9, 1, 0, %p1;", [](uint64_t L) { return uint64_t(L < 7); }},
      {"cvt.f64.f32 %rd1, %f1;\nmul.rn.f64 %rd2, %rd1, 0d4008000000000000;\ncvt.rzi.s32.f64 %r9, %rd2;", [](uint64_t L) { return 3 * L; }},
  };
  for (const ValueCase &Case : Cases) {
    const std::vector<uint64_t> Values = stored(std::string(Lane) + Case.Body);
    for (unsigned L = 0; L < 32; ++L)
      EXPECT_EQ(Values[L], Case.Value(L)) << Case.Body << "\nlane " << L;
  }
}

/// Halves are data, and so is what is made of them.
TEST(Execute, PackedHalvesAreData) {
  for (const char *const Index : {"add.f16x2 %r2, %r1, %r1;", "add.f16x2 %r3, %r1, %r1;\nmul.f32 %f1, %r3, 0f3F800000;\ncvt.rzi.s32.f32 %r2, %f1;",
                                  "cvt.rn.f32.u32 %f1, %r1;\ncvt.rn.f16x2.f32 %r2, %f1, %f1;"}) {
    const Kernel K = fromText(std::string("ld.param.u64 %rd1, [p];\nmov.u32 %r1, %laneid;\n") + Index +
                              "\nmul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd1, %rd1, %rd2;\nld.global.u32 %r4, [%rd1];\nret;");
    const WarpTrace T = K.run();
    ASSERT_EQ(T.Requests.size(), 1u);
    EXPECT_TRUE(T.Requests[0].DependsOnLoad) << Index;
  }
}

/// Arguments that are known, and those that are data: also where the load says nothing of its type.
TEST(Execute, FloatingPointArguments) {
  const Module M = parsed(R"(.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p, .param .f32 scale, .param .align 4 .b8 grid[8]) {
.reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.b32 %r1, [scale];
ld.param.b32 %r2, [grid];
mov.u32 %r3, %laneid;
cvt.rn.f32.u32 %r4, %r3;
mul.f32 %r5, %r4, %r1;
cvt.rzi.s32.f32 %r6, %r5;
mul.f32 %r7, %r4, %r2;
cvt.rzi.s32.f32 %r8, %r7;
ld.param.u64 %rd1, [p];
mul.wide.s32 %rd2, %r6, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.b32 %r5, [%rd3];
mul.wide.s32 %rd4, %r8, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.b32 %r7, [%rd5];
ret;
})");
  const Kernel K(M.Functions.at(0));
  LaunchFacts L;
  L.Reals = {std::nullopt, 2.5};
  const WarpTrace T = K.run(L);
  ASSERT_EQ(T.Requests.size(), 2u);
  EXPECT_FALSE(T.Requests[0].DependsOnLoad);
  for (unsigned Lane = 0; Lane < 32; ++Lane)
    EXPECT_EQ(T.Requests[0].Address[Lane] - Range, uint64_t(2.5 * Lane) * 4);
  EXPECT_TRUE(T.Requests[1].DependsOnLoad) << "a member of a struct";
  L.Reals = {};
  EXPECT_TRUE(K.run(L).Requests[0].DependsOnLoad) << "an argument that nobody knows";
}

TEST(Execute, StructsAndConstantMemoryAreWhatTheHostGives) {
  // p[tid * grid.stride + offset], grid a struct behind a pointer of the same struct; offset in constant memory
  Module M = parsed(R"(.version 8.0
.target sm_90
.address_size 64
.const .align 4 .u32 offset;
.const .align 4 .b8 table[16] = {0, 0, 0, 0, 3};
.visible .entry k(.param .align 8 .b8 grid[24]) {
.reg .pred %p<3>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [grid];
ld.param.u32 %r1, [grid+16];
ld.param.u32 %r7, [grid+20];
mov.u32 %r2, %tid.x;
setp.ge.s32 %p1, %r2, %r7;
@%p1 bra DONE;
ld.const.u32 %r3, [offset];
mad.lo.s32 %r4, %r2, %r1, %r3;
mul.wide.s32 %rd2, %r4, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.b32 %r5, [%rd3];
ld.const.u32 %r6, [table+4];
mul.wide.s32 %rd4, %r6, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.b32 %r5, [%rd5];
DONE: ret;
})");
  const Kernel K(M.Functions.at(0));
  LaunchFacts L;
  L.DefaultInteger = 16;
  WarpTrace T = K.run(L, 0, 0);
  ASSERT_EQ(T.Requests.size(), 2u) << "the guard holds, as nobody knows where the grid ends";
  EXPECT_EQ(T.Requests[0].Mask, ~0u);
  EXPECT_FALSE(T.Requests[0].DependsOnLoad);
  EXPECT_EQ(T.Requests[0].Address[3], Range + (3 * 16 + 16) * 4) << "integers that are not known";
  EXPECT_EQ(T.Requests[1].Address[3], Range + 3 * 4) << "what the table begins as";
  // In the source the pointer is followed by stride and end; here a layout made two pointers of it.
  KnownObject Grid = {std::vector<std::optional<uint8_t>>(16), 0};
  Grid.Bytes[8] = 5;
  Grid.Bytes[12] = 20;
  for (size_t I : {9, 10, 11, 13, 14, 15})
    Grid.Bytes[I] = 0;
  L.Objects = {Grid};
  L.Symbols["offset"] = {{2, 0, 0, 0}};
  L.Symbols["table"] = {{0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
  T = K.run(L, 0, 0);
  ASSERT_EQ(T.Requests.size(), 2u);
  EXPECT_EQ(T.Requests[0].Mask, (1u << 20) - 1) << "the guard is known";
  EXPECT_EQ(T.Requests[0].Address[3], Range + (3 * 5 + 2) * 4);
  EXPECT_EQ(T.Requests[1].Address[3], Range + 9 * 4) << "what the host copied there is stronger";
  // Records of { short a, b; int c; }, c before all others in this layout.
  ArrayPlace Moved;
  Moved.TileBytes = 16, Moved.SourceBytes = 16, Moved.Elements = 2, Moved.RecordBytes = 8;
  Moved.Source = {4, 5, 6, 7, 12, 13, 14, 15, 0, 1, 8, 9, 2, 3, 10, 11};
  L.Symbols["table"] = {{0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0}};
  L.SymbolArrays["table"] = Moved;
  EXPECT_EQ(K.run(L, 0, 0).Requests.at(1).Address[3], Range + 7 * 4) << "the second record's";
}

TEST(Execute, AGridStridesOverNoMoreThanThereIs) {
  // for (i = thread; i < *count; i += threads) p[i]
  Module M = parsed(R"(.visible .entry k(.param .u64 .ptr .global p, .param .u64 .ptr .global count) {
.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [p];
ld.param.u64 %rd2, [count];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %ntid.x;
mov.u32 %r3, %tid.x;
mad.lo.s32 %r4, %r1, %r2, %r3;
mov.u32 %r5, %nctaid.x;
mul.lo.s32 %r6, %r5, %r2;
ld.global.b32 %r7, [%rd2];
setp.ge.s32 %p1, %r4, %r7;
@%p1 bra DONE;
LOOP: mul.wide.s32 %rd3, %r4, 4;
add.s64 %rd4, %rd1, %rd3;
ld.global.b32 %r8, [%rd4];
add.s32 %r4, %r4, %r6;
setp.lt.s32 %p2, %r4, %r7;
@%p2 bra LOOP;
DONE: ret;
})");
  const Kernel K(M.Functions.at(0));
  LaunchFacts L;
  L.Grid = {2, 1, 1}, L.Block = {256, 1, 1}, L.Elements = 980;
  EXPECT_EQ(K.run(L, 0, 0).Loops.at(0).Executed, 2u);
  EXPECT_EQ(K.run(L, 1, 7).Loops.at(0).Executed, 1u) << "from 480 to 511";
  EXPECT_EQ(K.run(L, 1, 6).Loops.at(0).Executed, 2u) << "from 448 to 479";
  L.Elements = 1u << 22;
  EXPECT_EQ(K.run(L, 0, 0).Loops.at(0).Executed, 16u) << "as all loops that data end";
}

TEST(Execute, KnownObjectsThatGrew) {
  const KnownObject O = {{1, 0, 2, 0, std::nullopt, 0, 3, 0}, 4}; // a number, a pointer's place, a number
  EXPECT_EQ(O.word(0, 2, 8), 1u);
  EXPECT_EQ(O.word(6, 2, 8), 3u);
  EXPECT_EQ(O.word(4, 2, 8), std::nullopt);
  EXPECT_EQ(O.word(2, 2, 16), 2u);
  EXPECT_EQ(O.word(14, 2, 16), 3u) << "it is as far from the end as before";
  EXPECT_EQ(O.word(6, 2, 16), std::nullopt) << "within what grew";
  EXPECT_EQ(O.word(15, 2, 16), std::nullopt) << "beyond the end";
  EXPECT_EQ(O.word(~uint64_t(0), 2, 16), std::nullopt);
}

TEST(Execute, SharedAndGenericSpaces) {
  Module M = parsed(R"(.extern .shared .align 16 .b8 dynamic[];
.visible .entry k() { .reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .align 4 .b8 own[100];
mov.u32 %r1, dynamic;
mov.u32 %r2, %laneid;
shl.b32 %r3, %r2, 2;
add.s32 %r1, %r1, %r3;
st.shared.u32 [%r1], %r2;
mov.u64 %rd1, dynamic;
cvta.shared.u64 %rd2, %rd1;
ld.u32 %r4, [%rd2+8];
ld.shared.u32 %r5, [own+4];
ret; })");
  Kernel K(M.Functions.at(0));
  WarpTrace T = K.run();
  ASSERT_EQ(T.Requests.size(), 3u);
  EXPECT_EQ(T.Requests[0].Address[2], 112u + 8) << "open arrays follow those of known size";
  EXPECT_EQ(T.Requests[1].Mem, Space::Shared) << "a generic address is resolved";
  EXPECT_EQ(T.Requests[1].Address[0], 112u + 8);
  EXPECT_EQ(T.Requests[2].Address[0], 4u);
}

TEST(Execute, IntegerAndPointerParametersOf64Bits) {
  Module M = parsed(R"(.visible .entry k(.param .u64 p, .param .u64 n)
{ .reg .pred %p<4>; .reg .f32 %f<4>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [p];
ld.param.u64 %rd2, [n];
mov.u64 %rd3, 0;
L: shl.b64 %rd4, %rd3, 2;
add.s64 %rd5, %rd1, %rd4;
ld.global.f32 %f1, [%rd5];
add.s64 %rd3, %rd3, 1;
setp.lt.u64 %p1, %rd3, %rd2;
@%p1 bra L;
ret; })");
  Kernel K(M.Functions.at(0));
  LaunchFacts L;
  L.DefaultInteger = 1000;
  EXPECT_DOUBLE_EQ(K.run(L).Loops.at(0).True, 1000);
  L.Arguments = {std::nullopt, 50};
  EXPECT_DOUBLE_EQ(K.run(L).Loops.at(0).True, 50);
}

TEST(Execute, PartialWarpAndBlockShape) {
  Kernel K =
      fromText("ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.y;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd1, %rd1, %rd2;\n"
               "ld.global.f32 %f1, [%rd1];\nret;");
  LaunchFacts L;
  L.Block = {8, 5, 1};
  WarpTrace T = K.run(L, 0, 1);
  ASSERT_EQ(T.Requests.size(), 1u);
  EXPECT_EQ(T.Requests[0].Mask, 0xffu);
  EXPECT_EQ(T.Requests[0].Address[0], Range + 4 * 4);
  EXPECT_TRUE(K.run(L, 0, 2).Requests.empty());
}

TEST(Execute, UnknownInstructionsAndIndirectBranches) {
  Kernel K = fromText(R"(ld.param.u64 %rd1, [p];
frob.u64 %rd2, %rd1;
add.s64 %rd3, %rd1, %rd2;
ld.global.f32 %f1, [%rd3];
mov.u32 %r1, %laneid;
and.b32 %r2, %r1, 1;
table: .branchtargets A, B;
brx.idx %r2, table;
A: ld.global.f32 %f2, [%rd1];
B: ld.global.f32 %f3, [%rd1];
ret;)");
  WarpTrace T = K.run();
  ASSERT_EQ(T.Requests.size(), 3u);
  EXPECT_TRUE(T.Requests[0].DependsOnLoad) << "its result is not known";
  EXPECT_EQ(T.Requests[1].Mask, 0x55555555u);
  EXPECT_EQ(T.Requests[2].Mask, ~0u);
}

TEST(Execute, EndlessLoopsEnd) {
  for (const char *Body :
       {"L: bra L;", "mov.u32 %r1, 1;\nL: add.s32 %r2, %r2, 1;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra L;\nret;",
        "L: ld.global.u32 %r1, [%rd1];\nbra L;", "@%p1 bra B;\nA: mov.u32 %r1, 1;\nB: mov.u32 %r2, 1;\nbra A;"}) {
    WarpTrace T = fromText(Body).run();
    EXPECT_TRUE(T.Truncated) << Body;
  }
}

TEST(Execute, FiveNestedLoopsAreFast) {
  std::string Head, Work;
  for (int Depth = 0; Depth < 5; ++Depth)
    Head += "mov.u32 %r" + std::to_string(10 + Depth) + ", 0;\nL" + std::to_string(Depth) + ":\n";
  std::string Closings;
  for (int Depth = 4; Depth >= 0; --Depth) {
    const std::string R = "%r" + std::to_string(10 + Depth), P = "%p" + std::to_string(1 + Depth),
                      Label = "L" + std::to_string(Depth);
    Closings +=
        "add.s32 " + R + ", " + R + ", 1;\nsetp.lt.s32 " + P + ", " + R + ", 100;\n@" + P + " bra " + Label + ";\n";
  }
  for (int I = 0; I < 1000; ++I)
    Work += "mul.wide.s32 %rd2, %r14, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.f32 %f1, [%rd3];\nfma.rn.f32 %f2, %f1, "
            "%f1, %f2;\nadd.s32 %r5, %r5, %r14;\n";
  const std::string Text = kernel("ld.param.u64 %rd1, [p];\n" + Head + Work + Closings + "ret;");
  const auto Begin = std::chrono::steady_clock::now();
  Kernel K(parsed(Text).Functions.at(0));
  WarpTrace T = K.run();
  const auto Milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - Begin).count();
  EXPECT_EQ(T.Loops.size(), 5u);
  EXPECT_DOUBLE_EQ(T.BlockWeight[K.C.Loops.back().Header], 1e10);
  EXPECT_LT(Milliseconds, 2000) << "200 ms on an idle machine";
}

TEST(Execute, SurvivesDamagedText) {
  std::mt19937 Random(5);
  const std::string Good = input("flow.nvcc.ptx");
  ExecuteLimits Limits;
  Limits.MaxInstructions = 2000;
  for (unsigned Round = 0; Round < 100; ++Round) {
    std::string Damaged = Good;
    for (unsigned Hit = 0; Hit < 3; ++Hit)
      Damaged[Random() % Damaged.size()] = "0123456789rdfp%"[Random() % 15];
    llvm::Expected<Module> M = parse(Damaged);
    if (!M) {
      llvm::consumeError(M.takeError());
      continue;
    }
    for (const Function &F : M->Functions) {
      Kernel K(inlineCalls(*M, F));
      EXPECT_FALSE(dump(K.F, K.run({}, Round, 1, Limits)).empty());
    }
  }
}

TEST(Execute, SurvivesRandomPrograms) {
  std::mt19937 Random(3);
  const char *const Lines[] = {"add.s32 %r1, %r2, %r3;",
                               "sub.s32 %r2, %r1, 7;",
                               "shl.b32 %r3, %r1, %r2;",
                               "div.s32 %r1, %r2, %r3;",
                               "rem.u32 %r2, %r1, %r3;",
                               "ld.global.u32 %r1, [%rd1];",
                               "ld.u64 %rd1, [%rd2+8];",
                               "st.local.u64 [%rd1], %rd2;",
                               "ld.local.u64 %rd2, [%rd1];",
                               "ld.shared.v2.u32 {%r1, %r2}, [%r3];",
                               "atom.add.u32 %r1, [%rd1], %r2;",
                               "mov.b64 {%r1, %r2}, %rd1;",
                               "mov.b64 %rd1, {%r1, %r2};",
                               "mul.wide.s32 %rd2, %r1, %r2;",
                               "bfe.s64 %rd1, %rd2, %r1, %r2;",
                               "bfi.b64 %rd1, %rd2, %rd1, %r1, %r2;",
                               "cvt.s64.s8 %rd1, %rd2;",
                               "shfl.sync.idx.b32 %r1|%p1, %r2, %r3, %r1, -1;",
                               "vote.sync.any.pred %p1, %p2, -1;",
                               "setp.lt.s32 %p1, %r1, %r2;",
                               "setp.gt.f32 %p2, %f1, %f2;",
                               "div.s64 %rd1, %rd1, %rd2;",
                               "mul.hi.u64 %rd1, %rd1, %rd2;",
                               "@%p1 ret;",
                               "popc.b64 %r1, %rd1;",
                               "bfind.s32 %r1, %r2;",
                               "prmt.b32 %r1, %r2, %r3, %r1;",
                               "cvta.to.shared.u64 %rd1, %rd2;",
                               "ld.param.u64 %rd1, [%rd2];",
                               "brev.b64 %rd1, %rd2;",
                               "cvt.rzi.s32.f32 %r1, %f1;",
                               "mad.hi.s32 %r1, %r2, %r3, %r1;",
                               "min.s64 %rd1, %rd1, %rd2;",
                               "shr.s64 %rd1, %rd2, %r1;"};
  for (unsigned Round = 0; Round < 300; ++Round) {
    std::string Body;
    const unsigned Blocks = 1 + Random() % 12;
    for (unsigned B = 0; B < Blocks; ++B) {
      Body += "B" + std::to_string(B) + ":\n";
      for (unsigned I = Random() % 8; I > 0; --I)
        Body += std::string(Lines[Random() % std::size(Lines)]) + "\n";
      if (Random() % 4)
        Body += std::string(Random() % 2 ? "@%p1 " : "@!%p2 ") + "bra B" + std::to_string(Random() % Blocks) + ";\n";
    }
    ExecuteLimits Limits;
    Limits.MaxInstructions = 5000;
    Kernel K = fromText(Body + "ret;");
    WarpTrace T = K.run({}, Round, 0, Limits);
    for (size_t B = 0; B < T.BlockVisits.size(); ++B)
      EXPECT_GE(T.BlockWeight[B] + 1e-6, double(T.BlockVisits[B]));
    EXPECT_FALSE(dump(K.F, T).empty());
  }
}

} // namespace
