#include "analysis/cost/IssueSlots.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace restride;
using namespace restride::cost;

namespace {

struct Case {
  const char *Text, *Issue, *Latency;
};

TEST(IssueSlots, ClassesOfParsedInstructions) {
  const Case Cases[] = {
      {"add.f32 %f1, %f1, %f1;", "f32", "alu"},
      {"fma.rn.f64 %fd1, %fd1, %fd1, %fd1;", "f64", "f64"},
      {"rsqrt.approx.f32 %f1, %f1;", "rsqrt", "special"},
      {"div.rn.f32 %f1, %f1, %f1;", "div_ieee", "division"},
      {"div.approx.f32 %f1, %f1, %f1;", "div_approx", "special"},
      {"sqrt.rn.f32 %f1, %f1;", "sqrt_ieee", "special"},
      {"ex2.approx.f32 %f1, %f1;", "special", "special"},
      {"add.s32 %r1, %r1, %r1;", "i32", "alu"},
      {"add.s64 %rd1, %rd1, %rd1;", "i64", "i64"},
      {"mul.wide.s32 %rd1, %r1, 24;", "mul_wide", "alu"},
      {"mul.lo.s64 %rd1, %rd1, %rd1;", "mul64", "i64"},
      {"rem.u32 %r1, %r1, %r1;", "div_i32", "division"},
      {"cvt.s64.s32 %rd1, %r1;", "cvt_i64", "alu"},
      {"cvt.u64.u32 %rd1, %r1;", "free", "free"},
      {"cvt.u32.u64 %r1, %rd1;", "free", "free"},
      {"cvt.rn.f32.s32 %f1, %r1;", "cvt", "alu"},
      {"mov.u32 %r1, %tid.x;", "sreg", "alu"},
      {"mov.u32 %r1, %r1;", "free", "free"},
      {"cvta.to.global.u64 %rd1, %rd1;", "free", "free"},
      {"popc.b32 %r1, %r1;", "bits", "alu"},
      {"setp.lt.s32 %p1, %r1, %r1;", "setp", "alu"},
      {"ld.global.f32 %f1, [%rd1];", "memory", ""},
      {"ld.shared.f32 %f1, [%rd1];", "memory", "shared"},
      {"st.global.f32 [%rd1], %f1;", "memory", "store"},
      {"bar.sync 0;", "barrier", "barrier"},
      {"ret;", "branch", "alu"},
  };
  std::string Text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p<2>;\n"
                     ".reg .f32 %f<2>;\n.reg .f64 %fd<2>;\n.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\n";
  for (const Case &C : Cases)
    Text += std::string(C.Text) + "\n";
  Text += "}\n";
  llvm::Expected<ptx::Module> M = ptx::parse(Text);
  ASSERT_TRUE(bool(M)) << llvm::toString(M.takeError());
  ASSERT_EQ(M->Functions[0].Body.size(), std::size(Cases));
  for (auto [I, C] : llvm::zip_equal(M->Functions[0].Body, Cases)) {
    SCOPED_TRACE(C.Text);
    EXPECT_EQ(issueClass(I).str(), C.Issue);
    EXPECT_EQ(latencyClass(I).str(), C.Latency);
  }
}

TEST(IssueSlots, NarrowUnits) {
  const std::pair<const char *, const char *> Cases[] = {
      {"popc.b32 %r1, %r1;", "special"}, {"ex2.approx.f32 %f1, %f1;", "special"}, {"div.rn.f32 %f1, %f1, %f1;", "special"},
      {"add.s32 %r1, %r1, %r1;", "integer"}, {"add.f32 %f1, %f1, %f1;", ""}};
  std::string Text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .f32 %f<2>;\n.reg .b32 %r<2>;\n";
  for (auto [Line, Unit] : Cases)
    Text += std::string(Line) + "\n";
  llvm::Expected<ptx::Module> M = ptx::parse(Text + "}\n");
  ASSERT_TRUE(bool(M)) << llvm::toString(M.takeError());
  for (auto [I, C] : llvm::zip_equal(M->Functions[0].Body, Cases))
    EXPECT_EQ(unitOf(I).str(), C.second) << C.first;
}

TEST(IssueSlots, WeightsComeFromTheProfile) {
  Gpu G;
  G.IssueWeights["branch"] = 3;
  ptx::Instruction I;
  I.Op = ptx::Opcode::Ret;
  EXPECT_EQ(issueSlots(I, G), 3);
  I.Op = ptx::Opcode::Bar;
  EXPECT_EQ(issueSlots(I, G), 1) << "a class that the profile lacks costs one slot";
}

} // namespace
