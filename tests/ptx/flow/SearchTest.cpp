#include "ptx/flow/Search.h"

#include "tests/ptx/Inputs.h"

#include <gtest/gtest.h>

using namespace restride::ptx;
using namespace restride::ptx::test;

static std::optional<Search> searchIn(const std::string &Body) {
  const Module M = parsed(kernel(Body));
  const ControlFlow C = controlFlow(M.Functions.at(0));
  EXPECT_EQ(C.Loops.size(), 1u);
  return searchOf(M.Functions.at(0), C, C.Loops.at(0), inductions(M.Functions.at(0), C, C.Loops.at(0)));
}
static bool search(const std::string &Body) { return searchIn(Body).has_value(); }

TEST(Search, OfTheSlotOfAKey) {
  // while (p[slot] != key) slot = (slot + 1) & 1023;
  EXPECT_TRUE(search(R"(ld.param.u64 %rd1, [p];
ld.global.u32 %r9, [%rd1];
mov.u32 %r1, 7;
LOOP: mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r2, [%rd3];
add.s32 %r3, %r1, 1;
and.b32 %r1, %r3, 1023;
setp.ne.s32 %p1, %r2, %r9;
@%p1 bra LOOP;
ret;)"));
}

TEST(Search, ByAFlagThatSaysThatItWasFound) {
  // while (true) { seen = p[slot]; if (seen == key) break; if (seen == 0) break; ++slot; }
  // Block 1 only does what blocks 3 and 4 decided.
  const std::optional<Search> S = searchIn(R"(ld.param.u64 %rd1, [p];
ld.global.u32 %r9, [%rd1];
mov.u32 %r1, 7;
bra LOOP;
LATCH: @%p3 bra LOOP;
bra DONE;
LOOP: mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r2, [%rd3];
setp.eq.s32 %p1, %r2, %r9;
mov.pred %p3, 0;
@%p1 bra LATCH;
setp.eq.s32 %p2, %r2, 0;
@%p2 bra LATCH;
add.s32 %r1, %r1, 1;
mov.pred %p3, -1;
bra LATCH;
DONE: ret;)");
  ASSERT_TRUE(S);
  ASSERT_EQ(S->Tests.size(), 2u);
  EXPECT_EQ(S->Tests[0].Block, 3u);
  EXPECT_EQ(S->Tests[1].Block, 4u);
  EXPECT_TRUE(S->Tests[0].TakenEnds && S->Tests[1].TakenEnds);
  EXPECT_FALSE(S->First || S->Chain || S->Insert);
}

/// As ByAFlagThatSaysThatItWasFound for (n = 64; n; n -= 2), with a flag for each of two slots, of which \p Next leads
/// from one to the other.
static std::optional<Search> searchInCounted(const std::string &Next) {
  return searchIn(R"(ld.param.u64 %rd1, [p];
ld.global.u32 %r9, [%rd1];
mov.u32 %r1, 7;
mov.u32 %r8, 64;
LOOP: mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r2, [%rd3];
setp.eq.s32 %p1, %r2, %r9;
mov.pred %p3, 0;
@%p1 bra ONE;
setp.eq.s32 %p2, %r2, 0;
@%p2 bra ONE;
)" + Next + R"(
mov.pred %p3, -1;
ONE: @%p3 bra NEXT;
bra DONE;
NEXT: mul.wide.s32 %rd4, %r1, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.u32 %r3, [%rd5];
setp.eq.s32 %p4, %r3, %r9;
mov.pred %p6, 0;
mov.u32 %r6, 1;
@%p4 bra TWO;
setp.eq.s32 %p5, %r3, 0;
@%p5 bra TWO;
)" + Next + R"(
mov.pred %p6, -1;
mov.u32 %r6, 0;
TWO: not.pred %p7, %p6;
@%p7 bra DONE;
add.s32 %r8, %r8, -2;
setp.ne.s32 %p8, %r8, 0;
@%p8 bra LOOP;
DONE: ret;)");
}

TEST(Search, OfTwoSlotsATripAsItWasUnrolled) {
  const std::optional<Search> S = searchInCounted("add.s32 %r4, %r1, 1;\nand.b32 %r1, %r4, 1023;");
  ASSERT_TRUE(S);
  EXPECT_EQ(S->Tests.size(), 4u); // that the count ends is none
  EXPECT_EQ(S->Places, 2u);
  EXPECT_FALSE(S->First || S->Chain || S->Insert);
}

TEST(Search, NotOfAListByItsCount) { EXPECT_FALSE(searchInCounted("add.s32 %r1, %r1, 1;")); }

TEST(Search, OfAKeyOfTwoWordsVisitsOnePlaceATrip) {
  // while (!(p[2 * slot] == a && p[2 * slot + 1] == b)) ++slot;
  const std::optional<Search> S = searchIn(R"(ld.param.u64 %rd1, [p];
ld.global.u32 %r8, [%rd1];
ld.global.u32 %r9, [%rd1+4];
LOOP: ld.global.u32 %r2, [%rd1];
ld.global.u32 %r3, [%rd1+4];
setp.eq.s32 %p1, %r2, %r8;
setp.eq.s32 %p2, %r3, %r9;
and.pred %p3, %p1, %p2;
add.s64 %rd1, %rd1, 8;
@!%p3 bra LOOP;
ret;)");
  ASSERT_TRUE(S);
  EXPECT_EQ(S->Places, 1u);
}

TEST(Search, UntilASwapSucceeds) {
  EXPECT_TRUE(search(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, 0;
LOOP: add.s32 %r2, %r1, 1;
atom.global.cas.b32 %r3, [%rd1], %r1, %r2;
setp.ne.s32 %p1, %r3, %r1;
mov.b32 %r1, %r3;
@%p1 bra LOOP;
ret;)"));
}

TEST(Search, BySwapsOnlyWhereASlotLooksFree) {
  // for (;;) { seen = p[slot]; if (seen == 0) seen = atomicCAS(&p[slot], 0, key); if (seen == 0 || seen == key) break; ++slot; }
  const std::optional<Search> S = searchIn(R"(ld.param.u64 %rd1, [p];
ld.global.u32 %r9, [%rd1];
LOOP: ld.global.u32 %r3, [%rd1];
setp.ne.s32 %p1, %r3, 0;
@%p1 bra SEEN;
atom.global.cas.b32 %r3, [%rd1], 0, %r9;
SEEN: setp.eq.s32 %p2, %r3, 0;
@%p2 bra DONE;
setp.eq.s32 %p3, %r3, %r9;
@%p3 bra DONE;
add.s64 %rd1, %rd1, 4;
bra LOOP;
DONE: ret;)");
  ASSERT_TRUE(S);
  EXPECT_TRUE(S->Insert);
  EXPECT_EQ(S->Tests.size(), 2u);
  // Not where the value may come from elsewhere.
  EXPECT_FALSE(search(R"(ld.param.u64 %rd1, [p];
ld.global.u32 %r9, [%rd1];
mov.u32 %r4, 5;
LOOP: ld.global.u32 %r3, [%rd1];
setp.ne.s32 %p1, %r3, 0;
@%p1 bra SEEN;
add.s32 %r3, %r4, 1;
SEEN: add.s64 %rd1, %rd1, 4;
setp.ne.s32 %p3, %r3, %r9;
@%p3 bra LOOP;
ret;)"));
}

TEST(Search, OfAFreeSlotOrThatOfAKey) {
  // do { seen = atomicCAS(&p[slot], -1, key); ++slot; } while (seen != -1 && seen != key);
  EXPECT_TRUE(search(R"(ld.param.u64 %rd1, [p];
ld.global.u32 %r9, [%rd1];
LOOP: atom.global.cas.b32 %r3, [%rd1], -1, %r9;
add.s64 %rd1, %rd1, 4;
setp.eq.s32 %p1, %r3, -1;
setp.eq.s32 %p2, %r3, %r9;
or.pred %p3, %p1, %p2;
@!%p3 bra LOOP;
ret;)"));
}

TEST(Search, NotUntilAListEnds) {
  // while (k != -1) k = p[k];
  EXPECT_FALSE(search(R"(ld.param.u64 %rd1, [p];
mov.u32 %r1, 0;
LOOP: mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r1, [%rd3];
setp.ne.s32 %p1, %r1, -1;
@%p1 bra LOOP;
ret;)"));
}

TEST(Search, NotABodyThatSkipsOneElement) {
  // do { if (p[k] != mine) sum += p[k]; k = p[k + 1]; } while (k >= 0);
  EXPECT_FALSE(search(R"(ld.param.u64 %rd1, [p];
ld.global.u32 %r9, [%rd1];
mov.u32 %r1, 0;
LOOP: mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r2, [%rd3];
setp.eq.s32 %p1, %r2, %r9;
@%p1 bra SKIP;
add.s32 %r5, %r5, %r2;
SKIP: ld.global.u32 %r1, [%rd3+4];
setp.ge.s32 %p2, %r1, 0;
@%p2 bra LOOP;
ret;)"));
}

TEST(Search, WhoseFirstTestStandsBeforeTheLoop) {
  // for (s = p[key]; s != -1; s = p[s + 1]) if (p[s] == key) break;
  const std::optional<Search> S = searchIn(R"(ld.param.u64 %rd1, [p];
mov.u32 %r9, %tid.x;
mul.wide.s32 %rd2, %r9, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r1, [%rd3];
setp.eq.s32 %p1, %r1, -1;
@%p1 bra DONE;
LOOP: mul.wide.s32 %rd4, %r1, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.u32 %r2, [%rd5];
setp.eq.s32 %p2, %r2, %r9;
@%p2 bra DONE;
ld.global.u32 %r1, [%rd5+4];
setp.ne.s32 %p3, %r1, -1;
@%p3 bra LOOP;
DONE: ret;)");
  ASSERT_TRUE(S);
  ASSERT_TRUE(S->First);
  EXPECT_EQ(S->First->Block, 0u);
  EXPECT_TRUE(S->First->TakenEnds);
  EXPECT_EQ(S->Tests.size(), 2u);
  EXPECT_FALSE(S->Tests.back().TakenEnds);
  EXPECT_TRUE(S->Chain);
}

TEST(Search, OfWhomWhoWasNotLuckyGoesOn) {
  // Looked up and inserted in a simulated table that was half full, or became so: 2.0 and 1.5 slots in the mean.
  struct Case {
    bool Chain, Insert;
    double Mean, AfterFour; // share of lanes that visit more than four
  };
  for (const Case &C : {Case{false, false, 2.0, 0.083}, Case{false, true, 1.5, 0.032}, Case{true, false, 2.0, 0.0625}}) {
    Search S;
    S.Chain = C.Chain;
    S.Insert = C.Insert;
    double Left = 1, Mean = 0;
    for (uint64_t Trip = 1; Trip <= 60; ++Trip) {
      Mean += Left;
      Left *= S.goesOn(Trip);
      if (Trip == 4) {
        EXPECT_NEAR(Left, C.AfterFour, 0.012);
      }
    }
    EXPECT_NEAR(Mean, C.Mean, 0.1);
  }
}
