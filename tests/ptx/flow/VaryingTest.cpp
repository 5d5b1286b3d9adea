#include "ptx/flow/Varying.h"

#include "tests/ptx/Inputs.h"

#include <gtest/gtest.h>

using namespace restride::ptx;
using namespace restride::ptx::test;

/// Names of the registers that vary in \p Body.
static std::set<std::string> varying(const std::string &Body) {
  const Module M = parsed(kernel(Body));
  std::set<std::string> Out;
  if (!M.Functions.empty())
    for (unsigned R : varyingRegisters(M.Functions[0]).set_bits())
      Out.insert(M.Functions[0].Registers[R]);
  return Out;
}

TEST(Varying, FollowsFromTheThreadsNumberAndFromData) {
  EXPECT_EQ(varying("ld.param.u64 %rd1, [p];\nmov.u32 %r1, %ctaid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nret;"), std::set<std::string>());
  EXPECT_EQ(varying("mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ntid.x;\nadd.s32 %r3, %r1, %r2;\nadd.s32 %r4, %r2, 1;\nret;"), (std::set<std::string>{"%r1", "%r3"}));
  const std::string Loads = "ld.global.u32 %r1, [%rd1];\nadd.s32 %r2, %r1, 1;\nret;";
  EXPECT_EQ(varying("ld.param.u64 %rd1, [p];\n" + Loads), std::set<std::string>()) << "all the same";
  EXPECT_EQ(varying("mov.u32 %r3, %tid.x;\ncvt.u64.u32 %rd1, %r3;\n" + Loads), (std::set<std::string>{"%r1", "%r2", "%r3", "%rd1"}));
}

TEST(Varying, LoopsCarryItBack) {
  const char *const Loop = R"(mov.u32 %r1, 0;
mov.u32 %r4, 0;
mov.u32 %r3, %laneid;
LOOP: add.s32 %r2, %r1, 1;
mov.u32 %r1, %r4;
add.s32 %r4, %r4, %r3;
add.s32 %r5, %r5, 1;
setp.lt.s32 %p1, %r5, 8;
@%p1 bra LOOP;
ret;)";
  EXPECT_EQ(varying(Loop), (std::set<std::string>{"%r1", "%r2", "%r3", "%r4"}));
}
