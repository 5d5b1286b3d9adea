#include "rewriter/command/Config.h"

#include "tests/TemporaryFiles.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

std::string errorOf(llvm::StringRef Text) {
  llvm::Expected<Config> C = parseConfig(Text, "c.yaml");
  return C ? "" : llvm::toString(C.takeError());
}

const char *const All = R"(# what a project may say
Gpu: a100
MinSpeedup: 1.05
Layouts: [aos, soa]
Structs:
  Particle: {Layout: soa}
  'geo::Node': {Layout: keep}
Arrays:
  - {Kernel: advect, Members: [u, v, w], Layout: aos-align16}
Kernels:
  step: {Calls: 1000, Trips: {n: 4096}, Branch: {likely: 0.9}, Index: {idx: sorted}}
InheritParentConfig: true
)";

TEST(Config, saysAllOfIt) {
  llvm::Expected<Config> C = parseConfig(All, "c.yaml");
  ASSERT_TRUE(bool(C)) << llvm::toString(C.takeError());
  EXPECT_EQ(C->Gpu, "a100");
  EXPECT_EQ(C->MinSpeedup, 1.05);
  EXPECT_EQ(C->Layouts, (std::vector<std::string>{"aos", "soa"}));
  ASSERT_EQ(C->Structs.size(), 2u);
  EXPECT_EQ(C->Structs[1].Record, "geo::Node");
  EXPECT_EQ(C->Structs[1].Layout, "keep");
  EXPECT_EQ(C->Structs[1].At, "c.yaml:7:3");
  ASSERT_EQ(C->Arrays.size(), 1u);
  EXPECT_EQ(C->Arrays[0].Members, (std::vector<std::string>{"u", "v", "w"}));
  EXPECT_EQ(C->Arrays[0].Layout, "aos-align16");
  ASSERT_EQ(C->Kernels.size(), 1u);
  EXPECT_EQ(C->Kernels[0].Calls, 1000);
  ASSERT_EQ(C->Kernels[0].Trips.size(), 1u);
  EXPECT_EQ(C->Kernels[0].Trips[0].Value, 4096);
  EXPECT_EQ(C->Kernels[0].Likely, 0.9);
  ASSERT_EQ(C->Kernels[0].Index.size(), 1u);
  EXPECT_EQ(C->Kernels[0].Index[0].Order, "sorted");
  EXPECT_TRUE(C->InheritParent);
}

TEST(Config, readsWhatItPrints) {
  llvm::Expected<Config> C = parseConfig(All, "c.yaml");
  ASSERT_TRUE(bool(C)) << llvm::toString(C.takeError());
  std::string Printed = printConfig(*C);
  llvm::Expected<Config> Again = parseConfig(Printed, "d.yaml");
  ASSERT_TRUE(bool(Again)) << llvm::toString(Again.takeError()) << Printed;
  EXPECT_EQ(printConfig(*Again), Printed);
  EXPECT_NE(Printed.find("Particle: {Layout: soa}"), std::string::npos) << Printed;
}

TEST(Config, canBeEmpty) {
  EXPECT_EQ(errorOf(""), "");
  EXPECT_EQ(errorOf("# nothing yet\n"), "");
}

TEST(Config, errorsHaveAPlaceAndASuggestion) {
  EXPECT_EQ(errorOf("Gpu: h200\nStruct: {}\n"), "c.yaml:2:1: unknown key 'Struct'; did you mean 'Structs'?");
  EXPECT_EQ(errorOf("Structs:\n  P: {Layout: sao}\n"), "c.yaml:2:15: unknown layout 'sao'; did you mean 'soa'?");
  EXPECT_EQ(errorOf("Structs:\n  P: {}\n"), "c.yaml:2:3: 'P' needs a Layout");
  EXPECT_EQ(errorOf("Structs: [P]\n"), "c.yaml:1:10: this is a map of keys");
  EXPECT_EQ(errorOf("Layouts: [soa, keep]\n"),
            "c.yaml:1:16: unknown layout 'keep'; known: aos, aos-align8, aos-align16, soa, asta8, asta16, asta32, asta64, asta128, grouped");
  EXPECT_EQ(errorOf("Arrays:\n - {Kernel: k, Layout: soa}\n"), "c.yaml:2:4: this array needs Members");
  EXPECT_EQ(errorOf("Layouts: soa\n"), "c.yaml:1:10: 'Layouts' is a list");
  EXPECT_EQ(errorOf("MinSpeedup: 0.5\n"), "c.yaml:1:13: 'MinSpeedup' is a number, 1 or more");
  EXPECT_EQ(errorOf("MinSpeedup: nan\n"), "c.yaml:1:13: 'MinSpeedup' is a number, 1 or more");
  EXPECT_EQ(errorOf("Kernels: {k: {Trips: {n: -1}}}\n"), "c.yaml:1:26: 'n' is a whole number, 0 or more");
  EXPECT_EQ(errorOf("Kernels: {k: {Branch: {likely: 2}}}\n"), "c.yaml:1:32: 'likely' is a number from 0 to 1");
  EXPECT_EQ(errorOf("Kernels: {k: {Branch: {likly: 1}}}\n"), "c.yaml:1:24: unknown key 'likly'; did you mean 'likely'?");
  EXPECT_EQ(errorOf("Kernels: {k: {Index: {i: sorte}}}\n"), "c.yaml:1:26: unknown order 'sorte'; did you mean 'sorted'?");
  EXPECT_EQ(errorOf("InheritParentConfig: perhaps\n"), "c.yaml:1:22: 'InheritParentConfig' is true or false");
  EXPECT_EQ(errorOf("Gpu: h200\nGpu: a100\n"), "c.yaml:2:1: 'Gpu' stands here twice");
  EXPECT_EQ(errorOf("- soa\n"), "c.yaml:1:1: a configuration is a map of keys");
  EXPECT_EQ(errorOf("Gpu: h200\n---\nGpu: a100\n"), "c.yaml:3:1: a second document; a configuration is one");
  EXPECT_NE(errorOf("Gpu: [h200\n"), "");
  EXPECT_NE(errorOf(std::string("Gpu: \xff\xfe\0", 8)), "");
}

/// Aliases are shared in memory, and what they stand for is no name: nothing unfolds.
TEST(Config, isNoBomb) {
  std::string Text = "Gpu: &a0 [x, x]\nMinSpeedup: 2\n";
  std::string Bomb = "Layouts:\n - &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int I = 1; I < 40; ++I) {
    Bomb += " - &a" + std::to_string(I) + " [";
    for (int J = 0; J < 10; ++J)
      Bomb += (J ? ", *a" : "*a") + std::to_string(I - 1);
    Bomb += "]\n";
  }
  EXPECT_EQ(errorOf(Text), "c.yaml:1:6: 'Gpu' is a name");
  EXPECT_EQ(errorOf(Bomb), "c.yaml:2:4: an entry of 'Layouts' is a name");
}

/// No level of it is what a key takes, but a parser sees them all first.
TEST(Config, isNotDeep) {
  std::string Text = "Layouts: " + std::string(100000, '[') + "\n";
  EXPECT_NE(errorOf(Text), "");
}

TEST(Config, isTheNearestOneUpward) {
  test::TemporaryFolder Folder;
  Folder.write(".restride.yaml", "Gpu: a100\nMinSpeedup: 2\nStructs: {A: {Layout: soa}, B: {Layout: soa}}\n");
  Folder.write("lib/.restride.yaml", "InheritParentConfig: true\nGpu: own.yaml\nStructs: {B: {Layout: keep}}\n");
  Folder.write("lib/deep/.restride.yaml", "MinSpeedup: 3\n");
  Folder.write("lib/src/sim.cu", "");
  auto Of = [&](const char *File, size_t Files) {
    std::vector<std::string> Used;
    llvm::Expected<Config> C = findConfig(Folder.path(File), Used);
    EXPECT_TRUE(bool(C)) << llvm::toString(C.takeError());
    EXPECT_EQ(Used.size(), Files);
    return *C;
  };
  Config Own = Of("lib/src/sim.cu", 2);
  EXPECT_EQ(Own.Gpu, Folder.path("lib/own.yaml"));
  EXPECT_EQ(Own.MinSpeedup, 2);
  ASSERT_EQ(Own.Structs.size(), 2u);
  EXPECT_EQ(Own.Structs[0].Layout, "keep");
  EXPECT_EQ(Own.Structs[1].Record, "A");
  Config Deep = Of("lib/deep/sim.cu", 1);
  EXPECT_FALSE(Deep.Gpu);
  EXPECT_EQ(Deep.MinSpeedup, 3);
}

TEST(Config, isNotReadWhereItIsHuge) {
  test::TemporaryFolder Folder;
  Folder.write(".restride.yaml", std::string(10 << 20, '#'));
  std::vector<std::string> Used;
  llvm::Expected<Config> C = findConfig(Folder.path("sim.cu"), Used);
  ASSERT_FALSE(bool(C));
  EXPECT_EQ(llvm::toString(C.takeError()), Folder.path(".restride.yaml") + ": 10485760 bytes are too many for a configuration");
}

} // namespace
} // namespace restride
