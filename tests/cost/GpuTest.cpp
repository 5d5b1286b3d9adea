#include "analysis/cost/Gpu.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace restride::cost;

namespace {

std::string shipped(llvm::StringRef Name) {
  auto Buffer = llvm::MemoryBuffer::getFile(TESTS_DIR "/../analysis/cost/gpus/" + Name.str() + ".yaml");
  return Buffer ? (*Buffer)->getBuffer().str() : std::string();
}

std::string replaced(std::string Text, llvm::StringRef From, llvm::StringRef To) {
  size_t At = Text.find(From.str());
  EXPECT_NE(At, std::string::npos) << From.str();
  return Text.replace(At, From.size(), To.str());
}

std::string errorOf(llvm::Expected<Gpu> G) { return G ? "no error" : llvm::toString(G.takeError()); }

/// The message without file, line and column.
std::string unplaced(const std::string &Text) {
  std::string E = errorOf(parseGpu(Text, "g.yaml"));
  return E.substr(E.find(' ') + 1);
}

TEST(Gpu, EveryShippedProfileLoads) {
  std::vector<std::string> Names = shippedGpus();
  EXPECT_EQ(Names, (std::vector<std::string>{"a100", "gtx980", "h100", "h200", "v100"}));
  for (const std::string &Name : Names) {
    SCOPED_TRACE(Name);
    llvm::Expected<Gpu> G = loadGpu(Name);
    ASSERT_TRUE(bool(G)) << llvm::toString(G.takeError());
    EXPECT_EQ(G->Name, Name);
    EXPECT_FALSE(G->Source.empty());
    EXPECT_GT(G->DramLatency, G->L2Latency);
    EXPECT_GE(G->L2Latency, G->L1Latency);
    EXPECT_GT(G->L2BytesPerCycle, G->DramBytesPerCycle);
  }
}

TEST(Gpu, AUnknownNameIsSuggestedAndListed) {
  EXPECT_EQ(errorOf(loadGpu("h20")),
            "unknown GPU 'h20'; did you mean 'h200'? (known: a100, gtx980, h100, h200, v100, or "
            "a .yaml file)");
  EXPECT_EQ(errorOf(loadGpu("radeon")),
            "unknown GPU 'radeon' (known: a100, gtx980, h100, h200, v100, or a .yaml file)");
}

TEST(Gpu, AnUnreadableFileIsNamed) {
  EXPECT_EQ(errorOf(loadGpu("/nowhere/x.yaml")),
            "cannot read GPU profile '/nowhere/x.yaml': No such file or directory");
}

TEST(Gpu, AFileOfTheUsersLoads) {
  llvm::SmallString<128> Path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("mine", "yaml", Path));
  {
    std::error_code EC;
    llvm::raw_fd_ostream OS(Path, EC);
    OS << replaced(shipped("h200"), "Name: h200", "Name: mine");
  }
  llvm::Expected<Gpu> G = loadGpu(Path);
  ASSERT_TRUE(bool(G)) << llvm::toString(G.takeError());
  EXPECT_EQ(G->Name, "mine");
  EXPECT_FALSE(llvm::sys::fs::remove(Path));
}

TEST(Gpu, ProfileErrorsNameKeyLineAndColumn) {
  std::string Good = shipped("h200");
  ASSERT_EQ(errorOf(parseGpu(Good, "g.yaml")), "no error");
  EXPECT_EQ(errorOf(parseGpu(replaced(Good, "Sms: 132", "Smss: 132"), "g.yaml")),
            "g.yaml:5:1: unknown key 'Smss'; did you mean 'Sms'?");
  EXPECT_EQ(errorOf(parseGpu(replaced(Good, "Sms: 132", "Sms: many"), "g.yaml")),
            "g.yaml:5:6: 'Sms' must be a number, 0 or more");
  EXPECT_EQ(unplaced(replaced(Good, "MaxWarps: 64", "MaxWarps: 6.5")), "'MaxWarps' must be a whole number, 0 or more");
  EXPECT_EQ(errorOf(parseGpu(replaced(Good, "Sms: 132\n", ""), "g.yaml")), "g.yaml:2:1: key 'Sms' is missing");
  EXPECT_EQ(unplaced(replaced(Good, "  mul64: 2.41\n", "")), "key 'mul64' is missing in 'IssueWeights'");
  EXPECT_EQ(unplaced(replaced(Good, "  mul64:", "  mul46:")), "unknown key 'mul46'; did you mean 'mul64'?");
  EXPECT_EQ(errorOf(parseGpu(replaced(Good, "Sms: 132", "Sms: 132\nSms: 132"), "g.yaml")),
            "g.yaml:6:1: key 'Sms' appears twice");
  EXPECT_EQ(errorOf(parseGpu("", "g.yaml")), "g.yaml:1:1: a GPU profile is a map of keys");
  EXPECT_EQ(errorOf(parseGpu("- 1\n", "g.yaml")), "g.yaml:1:1: a GPU profile is a map of keys");
  EXPECT_TRUE(llvm::StringRef(errorOf(parseGpu("Name: [", "g.yaml"))).starts_with("g.yaml:"));
}

TEST(Gpu, ConstantsThatDivideMustBePositive) {
  EXPECT_NE(errorOf(parseGpu(replaced(shipped("h200"), "L2BytesPerCycle: ", "L2BytesPerCycle: 0 # "), "g.yaml")),
            "no error");
  EXPECT_NE(errorOf(parseGpu(replaced(shipped("h200"), "ClockGHz: 1.98", "ClockGHz: nan"), "g.yaml")), "no error");
}

} // namespace
