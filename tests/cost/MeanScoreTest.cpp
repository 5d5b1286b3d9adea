#include "analysis/cost/MeanScore.h"

#include "gtest/gtest.h"

using namespace restride::cost;

namespace {

Score scoreOf(double Latency, double Dram, double Conversion) {
  Score S;
  KernelCost K;
  K.Calls = 3;
  K.Cycles = Latency + Dram;
  K.Parts.Latency = Latency;
  K.Parts.Dram = Dram;
  S.Kernels.push_back(K);
  S.Cycles = K.Calls * K.Cycles;
  S.ConversionCycles = Conversion;
  return S;
}

TEST(MeanScore, IsTheGeometricMeanOfEachKernel) {
  Score M = meanScore({scoreOf(100, 0, 4), scoreOf(400, 1200, 9)});
  EXPECT_DOUBLE_EQ(M.Kernels[0].Cycles, 400);
  EXPECT_DOUBLE_EQ(M.Kernels[0].Parts.Latency, 200);
  EXPECT_EQ(M.Kernels[0].Parts.Dram, 0);
  EXPECT_EQ(M.Kernels[0].BoundBy, "latency");
  EXPECT_DOUBLE_EQ(M.Cycles, 1200);
  EXPECT_DOUBLE_EQ(M.ConversionCycles, 6);
}

TEST(MeanScore, KeepsTheTotalsOfTheSizes) {
  Score M = meanScore({scoreOf(100, 0, 4), scoreOf(400, 1200, 9)});
  EXPECT_EQ(M.AtSizes, (std::vector<double>{304, 4809}));
}

} // namespace
