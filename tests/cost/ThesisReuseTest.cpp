// Hit rates in nested loops, from the trips of a triangular one.
#include "analysis/cost/ThesisReuse.h"

#include "llvm/ADT/STLExtras.h"

#include "gtest/gtest.h"

using namespace restride;
using namespace restride::cost;

namespace {

/// for (j = 0; j < 100; ++j) for (i = 0; i <= j; ++i) p[i * 1024 + tid], p[i * 1024 + j]
constexpr const char Triangular[] = R"(.version 8.0
.target sm_52
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .pred %p<3>;
.reg .f32 %f<3>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [p];
mov.u32 %r3, %tid.x;
mul.wide.u32 %rd2, %r3, 4;
add.s64 %rd2, %rd1, %rd2;
mov.u32 %r1, 0;
OUTER:
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd3, %rd1, %rd3;
mov.u64 %rd4, %rd2;
mov.u32 %r2, 0;
INNER:
ld.global.f32 %f1, [%rd4];
ld.global.f32 %f2, [%rd3];
add.s64 %rd4, %rd4, 4096;
add.s64 %rd3, %rd3, 4096;
add.s32 %r2, %r2, 1;
setp.le.s32 %p1, %r2, %r1;
@%p1 bra INNER;
add.s32 %r1, %r1, 1;
setp.lt.s32 %p2, %r1, 100;
@%p2 bra OUTER;
ret;
}
)";

/// Of the loads, in text order.
std::vector<double> hits(double ResidentWarps) {
  llvm::Expected<ptx::Module> M = ptx::parse(Triangular);
  llvm::Expected<Gpu> G = loadGpu("gtx980");
  if (!M || !G) {
    ADD_FAILURE() << llvm::toString(llvm::joinErrors(M.takeError(), G.takeError()));
    return {};
  }
  const ptx::Function &F = M->Functions.front();
  const Code Kernel(F);
  const ptx::LaunchFacts Facts;
  std::vector<ThesisAccess> Accesses = thesisAccesses(F, sampleOne(Kernel, WarpRunner(Kernel, Facts)), ResidentWarps, *G);
  std::vector<double> Out;
  for (auto [I, A] : llvm::zip(F.Body, Accesses))
    if (I.isMemory() && I.isLoad() && I.Mem == ptx::Space::Global)
      Out.push_back(A.Hit);
  return Out;
}

TEST(ThesisReuse, ALaterTripOfTheOuterLoopFindsTheLine) {
  // The first does not depend on j, the second moves by one element.
  EXPECT_EQ(hits(1), (std::vector<double>{1, 31 / 32.0}));
}

TEST(ThesisReuse, UnlessATripIsMoreThanL2Holds) {
  EXPECT_EQ(hits(1e6), (std::vector<double>{0, 0})); // each step of i is another line
}

} // namespace
