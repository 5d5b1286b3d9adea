#include "ptx/flow/Search.h"

#include "tests/ptx/Inputs.h"

#include <gtest/gtest.h>

using namespace restride::ptx;
using namespace restride::ptx::test;

static bool search(const std::string &Body) { return ofOnlyLoop(Body, isSearch); }

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
  EXPECT_TRUE(search(R"(ld.param.u64 %rd1, [p];
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
DONE: ret;)"));
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
