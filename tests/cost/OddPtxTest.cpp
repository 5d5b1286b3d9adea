// PTX that no compiler writes every day. It gets a score, and what was
// approximated is said: never a crash, never a zero that nobody explains.
#include "analysis/cost/Rank.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

#include <cmath>
#include <ctime>

using namespace restride;
using namespace restride::cost;

namespace {

constexpr int64_t Elements = 1 << 22;

/// \p Before stands before the kernel k(float *p, float *q, u64 n).
std::string module(const std::string &Body, const std::string &Before = "") {
  return ".version 8.0\n.target sm_90\n.address_size 64\n" + Before +
         R"(.visible .entry k(.param .u64 p, .param .u64 q, .param .u64 n)
{
.reg .pred %p<9>;
.reg .f32 %f<19>;
.reg .b32 %r<19>;
.reg .b64 %rd<19>;
ld.param.u64 %rd1, [p];
ld.param.u64 %rd2, [q];
ld.param.u64 %rd3, [n];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %ntid.x;
mov.u32 %r3, %tid.x;
mad.lo.s32 %r4, %r1, %r2, %r3;
mul.wide.s32 %rd4, %r4, 4;
add.s64 %rd5, %rd1, %rd4;
add.s64 %rd6, %rd2, %rd4;
)" + Body +
         "}\n";
}

constexpr char LoadAndStore[] = "ld.global.f32 %f1, [%rd5];\nst.global.f32 [%rd6], %f1;\n";

struct Scored {
  KernelCost Kernel;
  std::vector<std::string> Said; ///< notes and warnings

  bool says(llvm::StringRef What) const {
    return llvm::any_of(Said, [&](llvm::StringRef S) { return S.contains(What); });
  }
};

Scored scored(const std::string &Text, int64_t N = Elements, Model Which = Model::Throughput) {
  Scored Out;
  llvm::Expected<Gpu> G = loadGpu("h200");
  llvm::Expected<ptx::Module> M = ptx::parse(Text);
  if (!G || !M) {
    ADD_FAILURE() << (G ? "" : llvm::toString(G.takeError())) << (M ? "" : llvm::toString(M.takeError()));
    return Out;
  }
  KernelLaunch L;
  L.Function = "k";
  L.Facts.Grid = {Elements / 256, 1, 1};
  L.Facts.Elements = Elements;
  L.Facts.Arguments = {std::nullopt, std::nullopt, N};
  llvm::Expected<Score> S = score(*M, L, {}, *G, Which);
  if (!S) {
    ADD_FAILURE() << llvm::toString(S.takeError());
    return Out;
  }
  Out.Kernel = S->Kernels.at(0);
  Out.Said = S->Warnings;
  llvm::append_range(Out.Said, Out.Kernel.Notes);
  for (const PlacedNote &N : Out.Kernel.LoopNotes)
    Out.Said.push_back("a loop " + N.Text);
  EXPECT_TRUE(std::isfinite(S->Cycles));
  EXPECT_GT(S->Cycles, 0);
  return Out;
}

struct OddCase {
  const char *What;
  std::string Text;
  const char *Says; ///< part of a note or warning
};

const OddCase Odd[] = {
    {"unknown instruction", module(std::string("frob.u64 %rd7, %rd5;\n") + LoadAndStore + "ret;\n"), "frob"},
    {"address from an unknown instruction", module("frob.u64 %rd7, %rd5;\nld.global.f32 %f1, [%rd7];\nret;\n"), "frob"},
    {"jump by data",
     module("ld.global.u32 %r5, [%rd5];\nand.b32 %r6, %r5, 1;\nt: .branchtargets A, B;\nbrx.idx %r6, t;\nA: "
            "ld.global.f32 %f1, [%rd6];\nB: st.global.f32 [%rd6], %f1;\nret;\n"),
     "a jump through a table goes by data: its 2 targets are taken as equally likely"},
    {"cycle with two entries", module(R"(ld.global.u32 %r5, [%rd5];
setp.gt.s32 %p1, %r5, 7;
@%p1 bra B;
A: ld.global.f32 %f1, [%rd6];
B: add.s32 %r5, %r5, 1;
ld.global.f32 %f2, [%rd5];
setp.lt.s32 %p2, %r5, 100;
@%p2 bra A;
ret;
)"),
     "a cycle with more than one entry"},
    {"recursion",
     module(std::string("{\n.param .b64 a0;\nst.param.b64 [a0], %rd5;\ncall.uni walk, (a0);\n}\n") + LoadAndStore + "ret;\n",
            ".func walk(.param .b64 walk_param_0)\n{\n.reg .b64 %rd<9>;\n.reg .b32 %r<9>;\nld.param.u64 %rd1, "
            "[walk_param_0];\nld.global.u32 %r1, [%rd1];\n{\n.param .b64 b0;\nst.param.b64 [b0], %rd1;\ncall.uni walk, "
            "(b0);\n}\nret;\n}\n"),
     "the call of walk is not followed"},
    {"endless loop", module("L: ld.global.f32 %f1, [%rd5];\nbra L;\n"), "without a known end"},
    {"a loop by data", module("L: ld.global.u32 %r5, [%rd5];\nadd.s64 %rd5, %rd5, 4;\nsetp.ne.s32 %p1, %r5, 5;\n@%p1 bra "
                              "L;\nst.global.f32 [%rd6], %f1;\nret;\n"),
     "is not counted"},
    {"nothing that runs", module("bra END;\nld.global.f32 %f1, [%rd5];\nEND: ret;\n"), "no access to memory was seen"},
};

TEST(OddPtx, IsScoredAndSaid) {
  for (const OddCase &Case : Odd)
    for (Model Which : {Model::Throughput, Model::Thesis}) {
      SCOPED_TRACE(Case.What);
      Scored S = scored(Case.Text, Elements, Which);
      EXPECT_TRUE(S.says(Case.Says)) << llvm::join(S.Said, "\n");
    }
}

TEST(OddPtx, InlineAssemblyHasItsOwnScope) {
  Scored S = scored(module("{\n.reg .u32 t;\nmov.u32 t, %clock;\nmov.u32 %r5, t;\n}\n{\n.reg .u32 t;\nprefetch.global.L2 "
                           "[%rd5];\n}\n" +
                           std::string(LoadAndStore) + "ret;\n"));
  EXPECT_EQ(S.Kernel.Accesses.size(), 2u);
}

/// A loop of n trips that reads 4 bytes in each, tested before it as compilers do.
std::string counted(const std::string &Type) {
  std::string Reg = Type == "s64" ? "%rd" : "%r", I = Reg + "8", N = Reg + "9";
  return module("ld.param." + Type + " " + N + ", [n];\nsetp.lt." + Type + " %p1, " + N + ", 1;\n@%p1 bra DONE;\nmov." + Type + " " +
                I + ", 0;\nL: ld.global.f32 %f1, [%rd5];\nadd.s64 %rd5, %rd5, 4;\nadd." + Type + " " + I + ", " + I +
                ", 1;\nsetp.lt." + Type + " %p2, " + I + ", " + N + ";\n@%p2 bra L;\nDONE: st.global.f32 [%rd6], %f1;\nret;\n");
}

TEST(OddPtx, TripCountsOfAllKinds) {
  for (const char *Type : {"s32", "s64"})
    for (int64_t N : {int64_t(0), int64_t(-5)}) {
      Scored S = scored(counted(Type), N);
      EXPECT_TRUE(S.says("a loop does not run")) << Type << N << llvm::join(S.Said, "\n");
    }
  Scored Many = scored(counted("s64"), int64_t(1) << 40), Few = scored(counted("s64"), 1 << 20);
  EXPECT_TRUE(Many.says("a loop makes 1.1e+12 trips")) << llvm::join(Many.Said, "\n");
  EXPECT_FALSE(Few.says("trips"));
  EXPECT_NEAR(Many.Kernel.Cycles / Few.Kernel.Cycles, 1 << 20, 1 << 18);
  // What does not fit the parameter is cut as the program would cut it.
  EXPECT_TRUE(scored(counted("s32"), int64_t(1) << 40).says("does not run"));
}

TEST(OddPtx, TheRestOfAnUnrolledLoopIsNoNews) {
  // The remainder's line is that of the loop, which runs.
  Scored S = scored(module(R"(mov.u32 %r8, 0;
L: ld.global.f32 %f1, [%rd5];
add.s32 %r8, %r8, 4;
setp.lt.s32 %p1, %r8, 64;
@%p1 bra L;
setp.eq.s32 %p2, %r8, 64;
@%p2 bra DONE;
R: ld.global.f32 %f2, [%rd5+4];
add.s32 %r8, %r8, -1;
setp.ne.s32 %p3, %r8, 0;
@%p3 bra R;
DONE: st.global.f32 [%rd6], %f1;
ret;
)"));
  EXPECT_FALSE(S.says("does not run")) << llvm::join(S.Said, "\n");
}

/// A switch of \p Cases cases, each of which reads a field of its own.
std::string switchTable(unsigned Cases) {
  std::string Targets, Blocks;
  for (unsigned I = 0; I < Cases; ++I) {
    Targets += (I ? ", C" : "C") + std::to_string(I);
    Blocks += "C" + std::to_string(I) + ": ld.global.f32 %f1, [%rd5+" + std::to_string(4 * I) + "];\nbra END;\n";
  }
  return module("ld.global.u32 %r5, [%rd5];\nrem.u32 %r6, %r5, " + std::to_string(Cases) + ";\nt: .branchtargets " + Targets +
                ";\nbrx.idx %r6, t;\n" + Blocks + "END: st.global.f32 [%rd6], %f1;\nret;\n");
}

TEST(OddPtx, HugeSwitches) {
  std::clock_t Begin = std::clock();
  Scored S = scored(switchTable(5000));
  EXPECT_TRUE(S.says("its 5000 targets are taken as equally likely")) << llvm::join(S.Said, "\n");
  EXPECT_LT(double(std::clock() - Begin) / CLOCKS_PER_SEC, 5) << "0.5 s on an idle machine";
}

} // namespace
