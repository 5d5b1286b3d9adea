#include "ptx/flow/Walk.h"

#include "tests/ptx/Inputs.h"

#include <gtest/gtest.h>

using namespace restride::ptx;
using namespace restride::ptx::test;

static bool isWalk(const Function &F, const ControlFlow &C, const Loop &L) { return walkOf(F, C, L).has_value(); }
static bool isDescent(const Function &F, const ControlFlow &C, const Loop &L) {
  const std::optional<Walk> W = walkOf(F, C, L);
  return W && W->Decides;
}

static bool walk(const std::string &Body) { return ofOnlyLoop(Body, isWalk); }
static bool descends(const std::string &Body) { return ofOnlyLoop(Body, isDescent); }

TEST(Walk, OfAList) {
  // while (k >= 0) k = p[k];
  const char *const List = R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, 0;
LOOP: mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r1, [%rd3];
setp.ge.s32 %p1, %r1, 0;
@%p1 bra LOOP;
ret;)";
  EXPECT_TRUE(walk(List));
  EXPECT_FALSE(descends(List)) << "it goes where it loads";
}

static const char *const Halves = R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, 0;
mov.u32 %r2, 4096;
LOOP: add.s32 %r3, %r1, %r2;
shr.u32 %r4, %r3, 1;
mul.wide.u32 %rd2, %r4, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.f32 %f1, [%rd3];
setp.lt.f32 %p1, %f1, 0f3F800000;
selp.b32 %r1, %r4, %r1, %p1;
selp.b32 %r2, %r2, %r4, %p1;
setp.lt.s32 %p2, %r1, %r2;
@%p2 bra LOOP;
ret;)";

TEST(Walk, ThatHalvesARange) {
  // The load decides by a predicate which half goes on.
  EXPECT_TRUE(walk(Halves));
  EXPECT_TRUE(descends(Halves)) << "and where it is says when it ends";
}

TEST(Walk, DownATreeInOrder) {
  // for (k = 0, d = 0; d < 12; ++d) k = 2 * k + 1 + (p[k] > x);
  EXPECT_TRUE(descends(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, 0;
mov.u32 %r2, 0;
LOOP: mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.f32 %f1, [%rd3];
setp.gt.f32 %p1, %f1, 0f3F800000;
selp.b32 %r3, 2, 1, %p1;
mad.lo.s32 %r1, %r1, 2, %r3;
add.s32 %r2, %r2, 1;
setp.lt.s32 %p2, %r2, 12;
@%p2 bra LOOP;
ret;)"));
}

TEST(Walk, ThatDataEndIsNoDescent) {
  // while (p[k] != 0) k = 2 * k + 1 + (p[k] > x): the same with its end in the data.
  EXPECT_FALSE(descends(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, 0;
LOOP: mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r4, [%rd3];
setp.gt.s32 %p1, %r4, 7;
selp.b32 %r3, 2, 1, %p1;
mad.lo.s32 %r1, %r1, 2, %r3;
setp.ne.s32 %p2, %r4, 0;
@%p2 bra LOOP;
ret;)"));
}

TEST(Walk, NotAGatherByACounter) {
  // for (k = p[0]; ; ++k) { sum += p[p[k]]; if (sum > 9) break; }
  EXPECT_FALSE(walk(R"(ld.param.u64 %rd1, [p];
ld.global.u32 %r1, [%rd1];
mov.u32 %r5, 0;
LOOP: mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r2, [%rd3];
mul.wide.s32 %rd4, %r2, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.u32 %r3, [%rd5];
add.s32 %r5, %r5, %r3;
add.s32 %r1, %r1, 1;
setp.le.s32 %p1, %r5, 9;
@%p1 bra LOOP;
ret;)"));
}

TEST(Walk, NotAProbeOfTheNextSlot) {
  // while (p[slot] != key) slot = (slot + 1) & 1023;
  EXPECT_FALSE(walk(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, 7;
LOOP: mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r2, [%rd3];
add.s32 %r3, %r1, 1;
and.b32 %r1, %r3, 1023;
setp.ne.s32 %p1, %r2, 5;
@%p1 bra LOOP;
ret;)"));
}

TEST(Walk, NotAMarchThroughSpace) {
  // while (s < 100) s += p[int(s)] > 1 ? 0.5f : 2;
  EXPECT_FALSE(walk(R"(ld.param.u64 %rd1, [p];
mov.f32 %f2, 0f00000000;
LOOP: cvt.rzi.s32.f32 %r1, %f2;
mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.f32 %f1, [%rd3];
setp.gt.f32 %p1, %f1, 0f3F800000;
selp.f32 %f3, 0f3F000000, 0f40000000, %p1;
add.f32 %f2, %f2, %f3;
setp.lt.f32 %p2, %f2, 0f42C80000;
@%p2 bra LOOP;
ret;)"));
}

/// do { k = stack[--top]; stack[top] = p[k].left; … } while (top > 0), with \p Pushed in its place, from \p From.
static bool byStack(const std::string &Pushed, const std::string &From = "local") {
  return ofOnlyLoop(R"(ld.param.u64 %rd1, [p];
mov.u64 %rd5, 0;
mov.u32 %r1, 1;
LOOP: add.s32 %r1, %r1, -1;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd5, %rd2;
ld.)" + From + R"(.u32 %r2, [%rd3];
mul.wide.s32 %rd2, %r2, 32;
add.s64 %rd4, %rd1, %rd2;
ld.global.u32 %r3, [%rd4+24];
setp.eq.u32 %p1, %r3, 0;
@%p1 bra LEAF;
)" + Pushed + R"(
add.s32 %r1, %r1, 2;
LEAF: setp.gt.s32 %p2, %r1, 0;
@%p2 bra LOOP;
ret;)", walksByStack);
}

TEST(Walk, ByAStack) {
  EXPECT_TRUE(byStack("st.local.u32 [%rd3], %r3;\nadd.s32 %r4, %r3, 1;\nst.local.u32 [%rd3+4], %r4;"));
  EXPECT_TRUE(byStack("shl.b32 %r4, %r2, 1;\nst.local.u32 [%rd3], %r4;")) << "whose nodes lie in order";
  EXPECT_FALSE(byStack("st.local.u32 [%rd3], %r1;")) << "nothing of what it loads or takes";
  EXPECT_FALSE(byStack("st.global.u32 [%rd3], %r3;", "global"));
}
