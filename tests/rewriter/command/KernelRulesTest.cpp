#include "rewriter/command/KernelRules.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

LaunchSite launch(std::string Name) {
  LaunchSite S;
  Launch &L = S.L;
  L.Kernel = "_Z" + Name;
  L.Name = std::move(Name);
  L.Launched = true;
  L.Calls = 1;
  L.Parameters = {"p", "n", "count"};
  L.Arguments = {std::nullopt, std::nullopt, 7};
  L.Notes = {"argument 'n' is not known", "argument 'count' is taken as 7"};
  return S;
}

std::vector<KernelRule> rules(llvm::StringRef Text) {
  llvm::Expected<Config> C = parseConfig(Text, "c.yaml");
  EXPECT_TRUE(bool(C)) << llvm::toString(C.takeError());
  return C->Kernels;
}

TEST(KernelRules, sayWhatTheSourceDoesNot) {
  std::vector<LaunchSite> All{launch("step"), launch("other"), launch("step")};
  llvm::Error E = applyKernelRules(All, rules("Kernels: {'geo::step': {Calls: 1000, Trips: {n: 4096}}}"));
  ASSERT_FALSE(bool(E)) << llvm::toString(std::move(E));
  EXPECT_EQ(All[0].L.Calls, 1000);
  EXPECT_EQ(All[0].L.Arguments[1], 4096);
  EXPECT_EQ(All[0].L.Arguments[2], 7);
  EXPECT_EQ(All[0].L.Notes, (std::vector<std::string>{"argument 'count' is taken as 7", "argument 'n' is 4096 in the configuration"}));
  EXPECT_EQ(All[1].L.Calls, 1);
  EXPECT_EQ(All[2].L.Calls, 0) << "the first has all of them";
  EXPECT_FALSE(All[1].L.Arguments[1]);
}

TEST(KernelRules, sayHowDataLies) {
  std::vector<LaunchSite> All{launch("step")};
  llvm::Error E = applyKernelRules(All, rules("Kernels: {step: {Branch: {likely: 0.25}, Index: {n: local}}}"));
  ASSERT_FALSE(bool(E)) << llvm::toString(std::move(E));
  EXPECT_EQ(All[0].L.BodyProbability, 0.25);
  EXPECT_EQ(All[0].L.Orders, (std::vector<IndexOrder>{IndexOrder::Random, IndexOrder::Local}));
  EXPECT_EQ(All[0].L.Notes[2], "an `if` on data runs its body with probability 0.25 in the configuration");
  EXPECT_EQ(All[0].L.Notes[3], "the entries of 'n' are local in the configuration");
  // An array that a fold took away was there before.
  E = applyKernelRules(All, rules("Kernels: {step: {Index: {gone: local}}}"), /*Again=*/true);
  EXPECT_FALSE(bool(E)) << llvm::toString(std::move(E));
  E = applyKernelRules(All, rules("Kernels:\n  step: {Index: {gone: local}}"));
  EXPECT_EQ(llvm::toString(std::move(E)), "c.yaml:2:18: kernel 'step': unknown parameter 'gone'; known: p, n, count");
}

TEST(KernelRules, nameParametersThatThereAre) {
  std::vector<LaunchSite> All{launch("step")};
  llvm::Error E = applyKernelRules(All, rules("Kernels:\n  step: {Trips: {counts: 1}}"));
  EXPECT_EQ(llvm::toString(std::move(E)), "c.yaml:2:18: kernel 'step': unknown parameter 'counts'; did you mean 'count'?");
}

} // namespace
} // namespace restride
