// Loads that are issued just before a store which they follow in the program.
#include "analysis/cost/LateLoads.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace restride;
using namespace restride::cost;

namespace {

/// For each store of \p Body, the places of its late loads among the loads.
std::vector<std::vector<unsigned>> lateLoadsOf(const std::string &Body, decltype(lateLoads) Find = lateLoads) {
  llvm::Expected<ptx::Module> M =
      ptx::parse(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .f32 %f<9>;\n.reg .b64 %rd<9>;\n" +
                 Body + "ret;\n}\n");
  if (!M) {
    ADD_FAILURE() << llvm::toString(M.takeError());
    return {};
  }
  const ptx::Function &F = M->Functions.front();
  std::vector<unsigned> Order(F.Body.size()), Loads(F.Body.size());
  std::iota(Order.begin(), Order.end(), 0);
  for (unsigned I = 0, Count = 0; I < F.Body.size(); ++I)
    Loads[I] = F.Body[I].isLoad() ? Count++ : 0;
  auto Late = Find(F, Order);
  std::vector<std::vector<unsigned>> Out;
  for (unsigned I : Order)
    if (F.Body[I].isStore()) {
      Out.emplace_back();
      for (unsigned L : Late.lookup(I))
        Out.back().push_back(Loads[L]);
    }
  return Out;
}

using Lists = std::vector<std::vector<unsigned>>;
const std::string X = "ld.global.f32 %f1, [%rd1];\nadd.f32 %f1, %f1, %f8;\nst.global.f32 [%rd1], %f1;\n";
const std::string Other = "ld.global.f32 %f3, [%rd2];\n"; // of an array that may be the same

TEST(LateLoads, ComeWithOneThatStaysBehindTheStore) {
  EXPECT_EQ(lateLoadsOf(X + "ld.global.f32 %f2, [%rd1+4];\n" + Other + "add.f32 %f2, %f2, %f3;\nst.global.f32 [%rd1+4], %f2;\n"),
            (Lists{{1}, {}}));
}

TEST(LateLoads, AreNoneIfNothingStaysBehind) {
  EXPECT_EQ(lateLoadsOf(X + "ld.global.f32 %f2, [%rd1+4];\nadd.f32 %f2, %f2, %f8;\nst.global.f32 [%rd1+4], %f2;\n"), (Lists{{}, {}}));
}

TEST(LateLoads, AreNotThoseThatMayReadWhatIsStored) {
  EXPECT_EQ(lateLoadsOf(X + "ld.global.f32 %f2, [%rd1];\n" + Other + "add.f32 %f2, %f2, %f3;\nst.global.f32 [%rd1+4], %f2;\n"),
            (Lists{{}, {}}));
}

TEST(LateLoads, AreNeededNoEarlierThanTheOneBehind) {
  // What is loaded is an address: it comes a load earlier, with x.
  EXPECT_EQ(lateLoadsOf(X + "ld.global.b64 %rd3, [%rd1+8];\nld.global.f32 %f2, [%rd3];\nst.global.f32 [%rd1+4], %f2;\n"), (Lists{{}, {}}));
}

TEST(LateLoads, StayBehindADivision) {
  EXPECT_EQ(lateLoadsOf(X + "div.rn.f32 %f5, %f6, %f7;\nld.global.f32 %f2, [%rd1+4];\n" + Other +
                        "add.f32 %f2, %f2, %f3;\nst.global.f32 [%rd1+4], %f2;\n"),
            (Lists{{}, {}}));
}

TEST(LateLoads, ComeBeforeAStoreThatCanGoWhenItsBlockBegins) {
  const std::string Root = "ld.global.f32 %f1, [%rd2];\nsqrt.rn.f32 %f2, %f1;\n";
  EXPECT_EQ(lateLoadsOf(Root + "st.global.f32 [%rd1], %f2;\nld.global.f32 %f3, [%rd1+4];\n"), (Lists{{1}}));
  EXPECT_EQ(lateLoadsOf(Root + "st.global.f32 [%rd1], %f2;\n" + Other), (Lists{{}})) << "of an array that may be the same";
  EXPECT_EQ(lateLoadsOf(Root + X + "ld.global.f32 %f3, [%rd1+4];\n"), (Lists{{}})) << "it waits for x, and the other comes with that";
}

// The body of a loop over records of 32 bytes: y += sqrt(x).
const std::string Load = "add.s64 %rd3, %rd1, %rd2;\nld.global.f32 %f1, [%rd3];\n";
const std::string Root = "sqrt.rn.f32 %f2, %f1;\n";
const std::string Store = "ld.global.f32 %f3, [%rd3+4];\nadd.f32 %f3, %f3, %f2;\nst.global.f32 [%rd3+4], %f3;\n";
const std::string Next = "add.s64 %rd2, %rd2, 32;\n";

TEST(NextTripLoads, GoBeforeAStoreBehindTheLastDivision) {
  EXPECT_EQ(lateLoadsOf(Load + Root + Store + Next, nextTripLoads), (Lists{{0}}));
}

TEST(NextTripLoads, AreNoneWhereAllIsOneBlock) {
  EXPECT_EQ(lateLoadsOf(Load + "add.f32 %f2, %f1, %f8;\n" + Store + Next, nextTripLoads), (Lists{{}}));
}

TEST(NextTripLoads, AreNotThoseThatMayReadWhatIsStored) {
  // Nothing goes on: the next trip reads the same record.
  EXPECT_EQ(lateLoadsOf("add.s64 %rd3, %rd1, %rd2;\nld.global.f32 %f1, [%rd3+4];\n" + Root + Store, nextTripLoads), (Lists{{}}));
  EXPECT_EQ(lateLoadsOf(Other + "mov.f32 %f1, %f3;\n" + Root + Load + Store + Next, nextTripLoads), (Lists{{}})) << "of an array that may be the same";
}

TEST(NextTripLoads, GoBeforeNoStoreInFrontOfADivision) {
  EXPECT_EQ(lateLoadsOf(Load + Store + "sqrt.rn.f32 %f2, %f1;\n" + Next, nextTripLoads), (Lists{{}}));
}

} // namespace
