#include "analysis/cost/Calibration.h"

#include "gtest/gtest.h"

using namespace restride::cost;

namespace {

/// What stands between the benchmarks' constants, as the program prints it.
std::string carried(llvm::StringRef Program) {
  llvm::StringRef From = Program.split("R\"yaml(").second;
  return From.split(")yaml\"").first.str();
}

TEST(Calibration, CarriesWhatIsNotMeasured) {
  llvm::Expected<Gpu> Base = loadGpu("a100");
  ASSERT_TRUE(bool(Base)) << llvm::toString(Base.takeError());
  llvm::Expected<std::string> Program = calibrationProgram(*Base);
  ASSERT_TRUE(bool(Program)) << llvm::toString(Program.takeError());
  EXPECT_TRUE(llvm::StringRef(*Program).starts_with(calibrationHeading()));

  std::string Carried = carried(*Program);
  EXPECT_NE(Carried.find("carried over from a100"), std::string::npos);
  EXPECT_NE(Carried.find("PNorm: "), std::string::npos);
  EXPECT_EQ(Carried.find("L2Latency: "), std::string::npos);

  // With the measured keys, which are all the others, it is a whole profile.
  auto IsCarried = [&](llvm::StringRef Key) { return llvm::StringRef(Carried).contains(("\n" + Key + ":").str()); };
  std::string Measured = printGpu(*Base, [&](llvm::StringRef Key) { return !IsCarried(Key); });
  llvm::Expected<Gpu> Read = parseGpu(Measured + Carried, "gpu.yaml");
  ASSERT_TRUE(bool(Read)) << llvm::toString(Read.takeError());
  EXPECT_EQ(Read->IssueWeights, Base->IssueWeights);
  EXPECT_EQ(Read->PNorm, Base->PNorm);
  EXPECT_EQ(Read->Sms, Base->Sms);
}

TEST(Gpu, IsReadAsItIsPrinted) {
  llvm::Expected<Gpu> G = loadGpu("h200");
  ASSERT_TRUE(bool(G)) << llvm::toString(G.takeError());
  auto All = [](llvm::StringRef) { return true; };
  llvm::Expected<Gpu> Again = parseGpu(printGpu(*G, All), "g.yaml");
  ASSERT_TRUE(bool(Again)) << llvm::toString(Again.takeError());
  EXPECT_EQ(printGpu(*Again, All), printGpu(*G, All));
  EXPECT_EQ(Again->DramBytesPerCycle, G->DramBytesPerCycle);
  EXPECT_EQ(Again->Source, G->Source);
}

} // namespace
