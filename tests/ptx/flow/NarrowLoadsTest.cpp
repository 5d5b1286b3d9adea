#include "ptx/flow/NarrowLoads.h"

#include "tests/ptx/Inputs.h"

using namespace restride::ptx;
using namespace restride::ptx::test;

namespace {

/// The load of \p Text, which uses some of what it loads, after narrowing: mnemonic, results and offset.
std::string narrowed(const std::string &Text) {
  Module M = parsed(kernel(Text));
  Function &F = M.Functions.at(0);
  narrowLoads(F);
  const Instruction &I = F.Body.at(0);
  std::string Out = I.Mnemonic + " {";
  for (const Operand &O : I.Dest)
    Out += (&O == I.Dest.data() ? "" : ", ") + F.Registers.at(unsigned(O.Reg));
  EXPECT_EQ(I.Dest.size(), I.Vector);
  return Out + "} +" + std::to_string(I.Addr->Imm);
}

TEST(NarrowLoads, LeaveOutWhatIsNotUsed) {
  const std::string Load = "ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16];\n";
  EXPECT_EQ(narrowed(Load + "st.global.f32 [%rd2], %f1;"), "ld.global.nc.f32 {%f1} +16");
  EXPECT_EQ(narrowed(Load + "st.global.f32 [%rd2], %f4;"), "ld.global.nc.f32 {%f4} +28");
  EXPECT_EQ(narrowed(Load + "add.f32 %f5, %f3, %f4;"), "ld.global.nc.v2.f32 {%f3, %f4} +24");
  EXPECT_EQ(narrowed(Load + "add.f32 %f5, %f2, %f3;"), "ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4} +16") << "no two of eight bytes";
  EXPECT_EQ(narrowed("ld.global.v2.u64 {%rd3, %rd4}, [%rd1];\nld.global.u32 %r1, [%rd4];"), "ld.global.u64 {%rd4} +8") << "an address";
}

TEST(NarrowLoads, KeepTheRest) {
  EXPECT_EQ(narrowed("ld.global.v2.f32 {%f1, %f2}, [%rd1];"), "ld.global.v2.f32 {%f1, %f2} +0") << "nothing is used";
  EXPECT_EQ(narrowed("ld.volatile.global.v2.f32 {%f1, %f2}, [%rd1];\nst.global.f32 [%rd2], %f1;"), "ld.volatile.global.v2.f32 {%f1, %f2} +0");
  EXPECT_EQ(narrowed("ld.global.v2.u32 {%r1, %r2}, [%rd1];\n@!%p1 add.u32 %r3, %r1, %r2;"), "ld.global.v2.u32 {%r1, %r2} +0");
}

} // namespace
