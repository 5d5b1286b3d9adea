#include "tests/ptx/Inputs.h"

#include "ptx/execute/Program.h"

using namespace restride::ptx;
using namespace restride::ptx::test;

namespace {

/// Instructions of \p Body whose results are computed, by their number.
std::vector<unsigned> computed(const std::string &Body) {
  Function F = parsed(kernel(Body)).Functions.at(0);
  ControlFlow C = controlFlow(F);
  Program P(F, C);
  std::vector<unsigned> Out;
  for (unsigned I = 0; I < P.Ops.size(); ++I)
    if (P.Ops[I].DestCount)
      Out.push_back(I);
  return Out;
}

using Numbers = std::vector<unsigned>;

TEST(Needed, WhatAddressesFollowFrom) {
  EXPECT_EQ(computed(R"(mov.u32 %r1, %tid.x;
mul.wide.s32 %rd2, %r1, 4;
mov.u32 %r2, %tid.y;
ld.global.f32 %f1, [%rd2];
add.f32 %f2, %f1, %f1;
st.global.f32 [%rd2], %f2;
ret;)"),
            (Numbers{0, 1}));
}

TEST(Needed, ALoadedIndex) {
  EXPECT_EQ(computed(R"(ld.global.u32 %r1, [%rd1];
mul.wide.s32 %rd2, %r1, 4;
ld.global.f32 %f1, [%rd2];
ret;)"),
            (Numbers{0, 1}));
}

TEST(Needed, GuardsAndBranches) {
  EXPECT_EQ(computed(R"(ld.global.f32 %f1, [%rd1];
setp.gt.f32 %p1, %f1, 0f00000000;
setp.lt.f32 %p2, %f1, 0f00000000;
@%p1 bra END;
add.f32 %f2, %f1, %f1;
END: ret;)"),
            (Numbers{0, 1}));
}

TEST(Needed, LoopCountersAndWhatIsReadBack) {
  EXPECT_EQ(computed(R"(mov.u32 %r1, 0;
mov.u32 %r9, 7;
L: add.s32 %r1, %r1, 1;
st.shared.u32 [%r1], %r9;
setp.lt.s32 %p1, %r1, 10;
@%p1 bra L;
ret;)"),
            (Numbers{0, 1, 2, 4}));
}

TEST(Needed, CarriesAreNoRegisters) {
  EXPECT_EQ(computed(R"(add.cc.u32 %r1, %r2, %r3;
addc.u32 %r4, %r5, 0;
cvt.u64.u32 %rd2, %r4;
ld.global.f32 %f1, [%rd2];
ret;)"),
            (Numbers{0, 1, 2}));
}

} // namespace
