#include "rewriter/views/TextView.h"
#include "rewriter/views/ScoreTable.h"

#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

Report::Kernel kernel(std::string Name, double Cycles, std::string BoundBy) {
  Report::Kernel K;
  K.Name = std::move(Name);
  K.Cycles = Cycles;
  K.BoundBy = std::move(BoundBy);
  return K;
}

Report::Variant variant(std::string Layout, std::vector<Report::Kernel> Kernels, double ConversionCycles = 0) {
  Report::Variant V;
  V.Layout = std::move(Layout);
  for (const Report::Kernel &K : Kernels)
    V.PredictedCycles += K.Cycles * K.Calls;
  V.Kernels = std::move(Kernels);
  V.ConversionCycles = ConversionCycles;
  return V;
}

std::string print(const Report &R) {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  printText(R, OS);
  return Text;
}

Report report() {
  Report R;
  R.Gpu = "h200";
  Report::Candidate C;
  C.Name = "Particle";
  C.Array = "d_particles";
  C.At = {"sim.cu", 12, 8};
  C.Outcome = Report::Status::Rewritten;
  C.Winner = "soa";
  C.PredictedSpeedup = 1.42;
  C.Refusals = {{"asta8", {"sim.cu", 40, 9}, "a pointer escapes"},
                {"soa", {"sim.cu", 41, 9}, "another reason"},
                {"asta16", {"sim.cu", 40, 9}, "a pointer escapes"}};
  C.Variants = {variant("aos", {kernel("step", 980000, "dram"), kernel("force", 1.5e9, "l1")}),
                variant("soa", {kernel("step", 250400, "dram"), kernel("force", 1.05e9, "latency")}, 20000)};
  R.Candidates = {C};
  return R;
}

TEST(TextView, printsDiagnosticsAndScores) {
  EXPECT_EQ(
      print(report()),
      "sim.cu:12:8: remark: array of 'Particle' ('d_particles') is faster as soa: predicted 1.42x on h200 [restride]\n"
      "sim.cu:40:9: note: asta8, asta16 refused: a pointer escapes\n"
      "sim.cu:41:9: note: soa refused: another reason\n"
      "  predicted cycles, all launches, and what bounds them:\n"
      "    layout       step          force  copies  total  speedup\n"
      "    aos     980k dram       1.50G l1       0  1.50G    1.00x\n"
      "  * soa     250k dram  1.05G latency   20.0k  1.05G    1.43x\n");
}

TEST(TextView, saysWhatBecameOfParallelArrays) {
  Report R = report();
  Report::Candidate &C = R.Candidates[0];
  C.Name = "Xy", C.Array = "d_x, d_y", C.SourceLayout = "parallel", C.Winner = "aos-align8";
  C.Refusals.clear();
  C.Variants.resize(1);
  EXPECT_EQ(llvm::StringRef(print(R)).split('\n').first,
            "sim.cu:12:8: remark: parallel arrays 'd_x, d_y' are faster as one array of 'Xy' in aos-align8: predicted 1.42x on h200 [restride]");
  C.Outcome = Report::Status::Kept;
  EXPECT_EQ(llvm::StringRef(print(R)).split('\n').first,
            "sim.cu:12:8: remark: parallel arrays 'd_x, d_y' stay as they are: no layout is predicted to be faster on h200 [restride]");
}

TEST(TextView, saysWhatBecameOfACandidate) {
  Report R = report();
  R.Candidates[0].Variants.clear();
  R.Candidates[0].Refusals = {{"", {"sim.cu", 40, 9}, "the pointer is stored in a file"}};
  R.Candidates[0].Outcome = Report::Status::Refused;
  EXPECT_EQ(print(R), "sim.cu:12:8: remark: array of 'Particle' ('d_particles') is left alone [restride]\n"
                      "sim.cu:40:9: note: refused: the pointer is stored in a file\n");
  R.Candidates[0].Refusals.clear();
  R.Candidates[0].Outcome = Report::Status::Forced;
  EXPECT_EQ(print(R), "sim.cu:12:8: remark: array of 'Particle' ('d_particles') becomes soa as asked: predicted 1.42x "
                      "on h200 [restride]\n");
  R.Candidates[0].Outcome = Report::Status::Kept;
  EXPECT_EQ(print(R), "sim.cu:12:8: remark: array of 'Particle' ('d_particles') is kept as the configuration says [restride]\n");
  R.Candidates[0].Winner.clear();
  EXPECT_EQ(print(R), "sim.cu:12:8: remark: array of 'Particle' ('d_particles') can be laid out anew [restride]\n");
  R.Candidates.clear();
  R.Warnings = {"3 instructions not understood: foo.bar"};
  EXPECT_EQ(print(R), "warning: 3 instructions not understood: foo.bar\n");
}

TEST(TextView, fitsInAHundredColumns) {
  Report R = report();
  std::vector<Report::Kernel> Kernels;
  for (unsigned I = 0; I < 12; ++I)
    Kernels.push_back(kernel("a_kernel_with_a_long_name_" + std::to_string(I), 1e5 + I, "latency"));
  R.Candidates[0].Variants = {variant("aos-align16", Kernels), variant("soa", Kernels)};
  std::string Text = print(R);
  bool Table = false;
  for (llvm::StringRef Line : llvm::split(Text, '\n')) {
    Table |= Line.contains("predicted cycles");
    EXPECT_TRUE(!Table || Line.size() <= 100) << Line.str();
  }
  EXPECT_NE(Text.find("others"), std::string::npos);
}

TEST(TextView, spellsCycles) {
  EXPECT_EQ(spellCycles(0), "0");
  EXPECT_EQ(spellCycles(999.4), "999");
  EXPECT_EQ(spellCycles(999.6), "1.00k");
  EXPECT_EQ(spellCycles(9994), "9.99k");
  EXPECT_EQ(spellCycles(12345), "12.3k");
  EXPECT_EQ(spellCycles(999600), "1.00M");
  EXPECT_EQ(spellCycles(4.5e9), "4.50G");
}

} // namespace
} // namespace restride
