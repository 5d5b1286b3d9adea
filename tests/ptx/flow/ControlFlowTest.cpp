#include "tests/ptx/Inputs.h"

#include "ptx/flow/ControlFlow.h"

#include "llvm/ADT/STLExtras.h"

#include <random>

using namespace restride::ptx;
using namespace restride::ptx::test;

namespace {

Function function(const std::string &Body) { return parsed(kernel(Body)).Functions.at(0); }

TEST(ControlFlow, Diamond) {
  Function F = function(R"(setp.eq.s32 %p1, %r1, 0;
@%p1 bra ELSE;
mov.u32 %r2, 1;
bra.uni END;
ELSE: mov.u32 %r2, 2;
END: ret;)");
  ControlFlow C = controlFlow(F);
  ASSERT_EQ(C.Blocks.size(), 4u);
  EXPECT_EQ(C.Blocks[0].Succs, (std::vector<unsigned>{2, 1})); // the fall-through is last
  EXPECT_EQ(C.Blocks[3].Preds, (std::vector<unsigned>{1, 2}));
  EXPECT_EQ(C.Idom, (std::vector<int>{-1, 0, 0, 0}));
  EXPECT_EQ(C.Ipdom, (std::vector<int>{3, 3, 3, -1}));
  EXPECT_TRUE(C.Loops.empty());
  EXPECT_TRUE(C.dominates(0, 3));
  EXPECT_FALSE(C.dominates(1, 3));
  EXPECT_EQ(C.blockOf(4), 2u);
}

TEST(ControlFlow, DebugLabelsDoNotSplitBlocks) {
  Function F = function("$L__tmp0:\nmov.u32 %r1, 1;\n$L__tmp1:\nmov.u32 %r2, 1;\n$L__tmp2:\nret;");
  EXPECT_EQ(controlFlow(F).Blocks.size(), 1u);
}

TEST(ControlFlow, NestedLoopsOfBothCompilers) {
  for (const char *Name : {"flow.clang.ptx", "flow.nvcc.ptx"}) {
    Module M = parsed(input(Name));
    const Function *F = M.find("nested");
    ASSERT_TRUE(F);
    ControlFlow C = controlFlow(*F);
    ASSERT_EQ(C.Loops.size(), 3u) << Name;
    for (int L = 0; L < 3; ++L) {
      EXPECT_EQ(C.Loops[L].Parent, L - 1) << Name;
      EXPECT_EQ(C.Loops[L].Depth, unsigned(L + 1)) << Name;
      EXPECT_EQ(C.Loops[L].Latches.size(), 1u) << Name;
    }
    EXPECT_GT(C.Loops[0].Blocks.size(), C.Loops[2].Blocks.size());
    EXPECT_TRUE(C.inLoop(C.Loops[2].Header, 0));
  }
}

TEST(ControlFlow, IrreducibleCycleIsReported) {
  Function F = function(R"(@%p1 bra B;
A: mov.u32 %r1, 1;
B: mov.u32 %r2, 1;
@%p2 bra A;
ret;)");
  ControlFlow C = controlFlow(F);
  EXPECT_TRUE(C.Loops.empty());
  ASSERT_EQ(C.Warnings.size(), 1u);
}

TEST(ControlFlow, OddShapes) {
  EXPECT_EQ(controlFlow(Function()).Blocks.size(), 1u);
  // Falls off the end; jumps to its end; never ends; a block that none reaches.
  EXPECT_EQ(controlFlow(function("mov.u32 %r1, 1;")).Blocks.size(), 1u);
  EXPECT_EQ(controlFlow(function("@%p1 bra END;\nmov.u32 %r1, 1;\nEND:")).Blocks.size(), 3u);
  EXPECT_EQ(controlFlow(function("L: bra L;")).Loops.size(), 1u);
  ControlFlow C = controlFlow(function("ret;\nDEAD: bra DEAD;"));
  EXPECT_EQ(C.Idom, (std::vector<int>{-1, -1}));
}

struct TripCase {
  const char *What;
  const char *Body; ///< after "mov.u32 %r1, START;" in the text itself
  std::optional<int64_t> Trips;
};

const TripCase Trips[] = {
    {"up, less", "mov.u32 %r1, 0;\nL: add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, 10;\n@%p1 bra L;\nret;", 10},
    {"up, less or equal", "mov.u32 %r1, 0;\nL: add.s32 %r1, %r1, 1;\nsetp.le.s32 %p1, %r1, 10;\n@%p1 bra L;\nret;", 11},
    {"by 4, not a divisor", "mov.u32 %r1, 0;\nL: add.s32 %r1, %r1, 4;\nsetp.lt.s32 %p1, %r1, 10;\n@%p1 bra L;\nret;",
     3},
    {"not equal", "mov.u32 %r1, 0;\nL: add.s32 %r1, %r1, 4;\nsetp.ne.s32 %p1, %r1, 100;\n@%p1 bra L;\nret;", 25},
    {"down to zero", "mov.u32 %r1, 7;\nL: add.s32 %r1, %r1, -1;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra L;\nret;", 7},
    {"down, greater", "mov.u32 %r1, 100;\nL: add.s32 %r1, %r1, -4;\nsetp.gt.s32 %p1, %r1, 3;\n@%p1 bra L;\nret;", 25},
    {"down by sub, greater or equal",
     "mov.u32 %r1, 9;\nL: sub.s32 %r1, %r1, 3;\nsetp.ge.s32 %p1, %r1, 0;\n@%p1 bra L;\nret;", 4},
    {"leaves on equal",
     "mov.u32 %r1, 0;\nL: add.s32 %r1, %r1, 8;\nsetp.eq.b32 %p1, %r1, 64;\n@%p1 bra E;\nbra L;\nE: ret;", 8},
    {"byte pointer", "mov.u64 %rd1, 0;\nL: add.s64 %rd1, %rd1, 16;\nsetp.ne.s64 %p1, %rd1, 4096;\n@%p1 bra L;\nret;",
     256},
    {"tests the old value",
     "mov.u32 %r1, 0;\nL: mov.u32 %r2, %r1;\nadd.s32 %r1, %r2, 1;\nsetp.lt.s32 %p1, %r2, 10;\n@%p1 bra L;\nret;", 11},
    {"copied counter",
     "mov.u32 %r1, 0;\nL: add.s32 %r2, %r1, 1;\nsetp.lt.s32 %p1, %r2, 10;\nmov.u32 %r1, %r2;\n@%p1 bra L;\nret;", 10},
    {"tests at the top",
     "mov.u32 %r1, 0;\nL: setp.ge.s32 %p1, %r1, 10;\n@%p1 bra E;\nadd.s32 %r1, %r1, 1;\nbra L;\nE: ret;", 10},
    {"swapped operands",
     "mov.u32 %r1, 0;\nmov.u32 %r3, 10;\nL: add.s32 %r1, %r1, 1;\nsetp.gt.s32 %p1, %r3, %r1;\n@%p1 bra L;\nret;", 10},
    {"inverted predicate",
     "mov.u32 %r1, 0;\nL: add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, 10;\nnot.pred %p2, %p1;\n@!%p2 bra L;\nret;", 10},
    {"update after the compare",
     "mov.u32 %r1, 0;\nL: setp.lt.s32 %p1, %r1, 9;\nadd.s32 %r1, %r1, 1;\n@%p1 bra L;\nret;", 10},
    {"unsigned", "mov.u32 %r1, -2;\nL: add.s32 %r1, %r1, -2;\nsetp.hi.u32 %p1, %r1, -8;\n@%p1 bra L;\nret;", 3},
    {"at least once", "mov.u32 %r1, 5;\nL: add.s32 %r1, %r1, 1;\nsetp.ne.s32 %p1, %r1, 6;\n@%p1 bra L;\nret;", 1},
};

TEST(TripCount, Constant) {
  for (const TripCase &Case : Trips) {
    Function F = function(Case.Body);
    ControlFlow C = controlFlow(F);
    ASSERT_EQ(C.Loops.size(), 1u) << Case.What;
    TripCount T = tripCount(F, C, C.Loops[0]);
    EXPECT_EQ(T.K, TripCount::Constant) << Case.What << ": " << T.Why;
    EXPECT_EQ(T.Trips, Case.Trips) << Case.What;
  }
}

TEST(TripCount, Unknown) {
  const char *Bodies[] = {
      "L: ld.global.u32 %r1, [%rd1];\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra L;\nret;",             // data
      "mov.u32 %r1, 1;\nL: shl.b32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, 64;\n@%p1 bra L;\nret;", // doubles
      "L: add.f32 %f1, %f1, %f2;\nsetp.lt.f32 %p1, %f1, %f3;\n@%p1 bra L;\nret;",               // float
      "L: bra L;",
      "mov.u32 %r1, 0;\nL: add.s32 %r1, %r1, 3;\nsetp.ne.s32 %p1, %r1, 10;\n@%p1 bra L;\nret;", // steps over its bound
  };
  for (const char *Body : Bodies) {
    Function F = function(Body);
    ControlFlow C = controlFlow(F);
    ASSERT_EQ(C.Loops.size(), 1u) << Body;
    TripCount T = tripCount(F, C, C.Loops[0]);
    EXPECT_EQ(T.K, TripCount::Unknown) << Body;
    EXPECT_FALSE(T.Why.empty()) << Body;
  }
}

TEST(TripCount, RealLoops) {
  struct {
    const char *Function;
    TripCount::Kind K;
    std::optional<int64_t> Trips;
  } const Cases[] = {{"up", TripCount::Parametric, std::nullopt},
                     {"down", TripCount::Constant, 25},
                     {"stride", TripCount::Parametric, std::nullopt}};
  for (const char *Name : {"flow.clang.ptx", "flow.nvcc.ptx"}) {
    Module M = parsed(input(Name));
    for (const auto &Case : Cases) {
      const Function *F = M.find(Case.Function);
      ASSERT_TRUE(F);
      ControlFlow C = controlFlow(*F);
      ASSERT_EQ(C.Loops.size(), 1u);
      TripCount T = tripCount(*F, C, C.Loops[0]);
      EXPECT_EQ(T.K, Case.K) << Name << ' ' << Case.Function;
      EXPECT_EQ(T.Trips, Case.Trips) << Name << ' ' << Case.Function;
      EXPECT_GE(T.InductionRegister, 0);
    }
  }
}

TEST(ControlFlow, RandomGraphs) {
  std::mt19937 Random(7);
  for (unsigned Round = 0; Round < 100; ++Round) {
    std::string Body;
    const unsigned Blocks = 2 + Random() % 30;
    for (unsigned B = 0; B < Blocks; ++B) {
      Body += "B" + std::to_string(B) + ": add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, %r2;\n";
      if (Random() % 3)
        Body += "@%p1 ";
      Body += "bra B" + std::to_string(Random() % Blocks) + ";\n";
    }
    Function F = function(Body);
    ControlFlow C = controlFlow(F);
    for (unsigned B = 1; B < C.Blocks.size(); ++B)
      EXPECT_TRUE(C.Idom[B] < 0 || C.dominates(unsigned(C.Idom[B]), B));
    for (const Loop &L : C.Loops)
      for (unsigned B : L.Blocks)
        EXPECT_TRUE(C.dominates(L.Header, B));
    EXPECT_FALSE(dump(F, C).empty());
  }
}

} // namespace
