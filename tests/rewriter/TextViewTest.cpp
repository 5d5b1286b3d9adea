#include "rewriter/views/TextView.h"
#include "rewriter/views/Table.h"

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
            "sim.cu:12:8: remark: parallel arrays 'd_x, d_y' stay as they are: no other layout is asked for, or legal [restride]");
}

TEST(TextView, saysWhatAGainThatIsTooSmallIs) {
  Report R = report();
  R.Candidates[0].Outcome = Report::Status::Kept;
  EXPECT_EQ(llvm::StringRef(print(R)).split('\n').first,
            "sim.cu:12:8: remark: array of 'Particle' ('d_particles') stays as it is: soa is predicted 1.43x on h200, less than MinSpeedup or "
            "than what launches vary by [restride]");
  R.Candidates[0].Variants[1].PredictedCycles = R.Candidates[0].Variants[0].PredictedCycles;
  EXPECT_EQ(llvm::StringRef(print(R)).split('\n').first,
            "sim.cu:12:8: remark: array of 'Particle' ('d_particles') stays as it is: no layout is predicted to be faster on h200 [restride]");
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

/// A kernel that reads x and y of line 30 and writes line 31.
Report::Kernel explained(double Dram, double Sectors) {
  Report::Kernel K = kernel("step", Dram * 1.1, "dram");
  K.Parts = {1e4, 2e4, 3e4, Dram, 5e3};
  K.Resident = {4096, 8, 4, 0.5, "registers", 64, true};
  K.L2Bytes = 2e6, K.DramBytes = Dram * 10;
  Report::Access X{30, 7, "x", 4, Sectors, 1}, Y{30, 14, "y", 4, Sectors, 1}, Z{31, 3, "z", 4, Sectors, 2, "store"};
  X.FromDram = 1, Y.FromL1 = 0.5, Y.FromL2 = 0.5;
  K.Accesses = {X, Y, Z};
  K.Notes = {"argument 'n' is taken as 512", "the arrays' size is not known, 4194304 elements assumed"};
  return K;
}

TEST(TextView, explainsAScore) {
  Report R = report();
  R.Candidates[0].Refusals.clear();
  R.Candidates[0].Winner = "aos-align16";
  R.Candidates[0].Variants = {variant("aos", {explained(1e6, 32)}), variant("aos-align16", {explained(5e5, 16)}),
                              variant("soa", {explained(4e6, 32)})};
  std::string Text = print(R);
  EXPECT_EQ(Text.substr(Text.find("  kernel step")),
            "  kernel step, 1 launch of 4.10k blocks of 8 warps, 64 registers per thread (estimated); cycles of\n"
            "    one launch by what could bind it, and joined:\n"
            "    layout       issue     l1     l2   dram  latency  cycles  bound by   L2 B  DRAM B  occupancy\n"
            "    aos          10.0k  20.0k  30.0k  1.00M    5.00k   1.10M      dram  2.00M   10.0M   50% regs\n"
            "  * aos-align16  10.0k  20.0k  30.0k   500k    5.00k    550k      dram  2.00M   5.00M   50% regs\n"
            "    soa          10.0k  20.0k  30.0k  4.00M    5.00k   4.40M      dram  2.00M   40.0M   50% regs\n"
            "    requests per warp x sectors (32 B) per request, % found in L1/L2/DRAM:\n"
            "    line         fields                aos        aos-align16                soa\n"
            "    30    load   x y     2 x 32.0 25/25/50  2 x 16.0 25/25/50  2 x 32.0 25/25/50\n"
            "    31    store  z                2 x 32.0           2 x 16.0           2 x 32.0\n"
            "    soa takes 8.00 times as long as aos-align16: dram is 4.00M instead of 500k\n"
            "    assumed: argument 'n' is taken as 512; the arrays' size is not known, 4194304 elements assumed\n");
}

TEST(TextView, explanationsFitInAHundredColumns) {
  Report R = report();
  R.Candidates[0].Refusals.clear();
  Report::Kernel K = explained(123456789, 31.5);
  K.Name = "a_kernel_with_a_very_long_name_of_some_namespace";
  K.Parts = {1.234e9, 1.234e9, 1.234e9, 1.234e9, 1.234e9};
  K.BoundBy = "latency";
  K.Resident.LimitedBy = "shared memory";
  for (Report::Access &A : K.Accesses) {
    A.RequestsPerWarp = 65500;
    A.Field = "some.nested.member";
    A.File = "a/folder/" + A.Field + std::to_string(A.Line) + ".cuh"; // of several files
    A.Line += 1000;
    A.FromL1 = 0.34, A.FromL2 = 0.33, A.FromDram = 0.33;
  }
  R.Candidates[0].Variants = {variant("aos", {K}), variant("aos-align16", {K}), variant("soa", {K}), variant("asta128", {K})};
  std::string Text = print(R);
  for (llvm::StringRef Line : llvm::split(llvm::StringRef(Text).split('\n').second, '\n'))
    EXPECT_LE(Line.size(), 100u) << Line.str();
}

TEST(TextView, spellsCounts) {
  EXPECT_EQ(spellCount(0), "0");
  EXPECT_EQ(spellCount(999.4), "999");
  EXPECT_EQ(spellCount(999.6), "1.00k");
  EXPECT_EQ(spellCount(9994), "9.99k");
  EXPECT_EQ(spellCount(12345), "12.3k");
  EXPECT_EQ(spellCount(999600), "1.00M");
  EXPECT_EQ(spellCount(4.5e9), "4.50G");
}

} // namespace
} // namespace restride
