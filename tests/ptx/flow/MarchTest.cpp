#include "ptx/flow/March.h"

#include "tests/ptx/Inputs.h"

#include <gtest/gtest.h>

using namespace restride::ptx;
using namespace restride::ptx::test;

static bool march(const std::string &Body) { return ofOnlyLoop(Body, marches); }

TEST(March, ByAFloat) {
  // for (float t = 0; t < leave; t += 0.5f) if (p[int(t)] > 1) break;
  EXPECT_TRUE(march(R"(ld.param.u64 %rd1, [p];
ld.global.f32 %f4, [%rd1];
mov.f32 %f2, 0f00000000;
LOOP: cvt.rzi.s32.f32 %r1, %f2;
mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.f32 %f1, [%rd3];
setp.gt.f32 %p1, %f1, 0f3F800000;
@%p1 bra END;
add.f32 %f3, %f2, 0f3F000000;
setp.lt.f32 %p2, %f3, %f4;
mov.f32 %f2, %f3;
@%p2 bra LOOP;
END: ret;)"));
}

TEST(March, NotASumOfData) {
  // while (s < 100) s += p[i++];
  EXPECT_FALSE(march(R"(ld.param.u64 %rd1, [p];
mov.f32 %f2, 0f00000000;
LOOP: ld.global.f32 %f1, [%rd1];
add.s64 %rd1, %rd1, 4;
add.f32 %f2, %f2, %f1;
setp.lt.f32 %p2, %f2, 0f42C80000;
@%p2 bra LOOP;
ret;)"));
}

TEST(March, NotAnIteration) {
  // while (hi - lo > 0.01f) { mid = 0.5f * (lo + hi); lo = p[0] > mid ? mid : lo; hi = …; }
  EXPECT_FALSE(march(R"(ld.param.u64 %rd1, [p];
mov.f32 %f2, 0f00000000;
mov.f32 %f3, 0f42C80000;
ld.global.f32 %f1, [%rd1];
LOOP: add.f32 %f4, %f2, %f3;
mul.f32 %f5, %f4, 0f3F000000;
setp.gt.f32 %p1, %f1, %f5;
selp.f32 %f2, %f5, %f2, %p1;
selp.f32 %f3, %f3, %f5, %p1;
sub.f32 %f6, %f3, %f2;
setp.gt.f32 %p2, %f6, 0f3C23D70A;
@%p2 bra LOOP;
ret;)"));
}
