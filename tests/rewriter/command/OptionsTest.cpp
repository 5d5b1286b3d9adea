#include "rewriter/command/Options.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

llvm::Expected<Options> parse(std::vector<const char *> Args) {
  Args.insert(Args.begin(), "restride");
  return parseOptions(Args.size(), Args.data());
}

std::string errorOf(std::vector<const char *> Args) {
  llvm::Expected<Options> O = parse(std::move(Args));
  return O ? "" : llvm::toString(O.takeError());
}

TEST(Options, haveDefaults) {
  llvm::Expected<Options> O = parse({"sim.cu"});
  ASSERT_TRUE(bool(O)) << llvm::toString(O.takeError());
  EXPECT_EQ(O->Files, std::vector<std::string>{"sim.cu"});
  EXPECT_FALSE(O->InPlace || O->Check || O->List || O->Quiet);
  EXPECT_EQ(O->Gpu, "");
  EXPECT_EQ(O->Model, CostModel::Throughput);
  EXPECT_EQ(O->Compiler, PtxCompiler::Clang);
  EXPECT_FALSE(O->Flags.Fixed);
  EXPECT_GE(O->Jobs, 1u);
}

TEST(Options, areAllRead) {
  llvm::Expected<Options> O =
      parse({"-i", "--layout=soa", "--struct=A", "--struct", "B", "--emit-variants=out", "--report=r.json",
             "--gpu=a100", "--cost-model=thesis", "--ptx-compiler=nvcc", "--cuda-path=/cuda", "-p", "build",
             "--extra-arg=-DX", "--quiet", "-j3", "a.cu", "b.cu"});
  ASSERT_TRUE(bool(O)) << llvm::toString(O.takeError());
  EXPECT_TRUE(O->InPlace && O->Quiet);
  EXPECT_EQ(O->Layout, "soa");
  EXPECT_EQ(O->Structs, (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(O->EmitVariants, "out");
  EXPECT_EQ(O->ReportFile, "r.json");
  EXPECT_EQ(O->Gpu, "a100");
  EXPECT_EQ(O->Model, CostModel::Thesis);
  EXPECT_EQ(O->Compiler, PtxCompiler::Nvcc);
  EXPECT_EQ(O->CudaPath, "/cuda");
  EXPECT_EQ(O->Flags.BuildPath, "build");
  EXPECT_EQ(O->Flags.Extra, std::vector<std::string>{"-DX"});
  EXPECT_EQ(O->Jobs, 3u);
  EXPECT_EQ(O->Files, (std::vector<std::string>{"a.cu", "b.cu"}));
}

TEST(Options, calibrationNeedsNoFile) {
  llvm::Expected<Options> O = parse({"--calibrate=gpu.yaml"});
  ASSERT_TRUE(bool(O)) << llvm::toString(O.takeError());
  EXPECT_EQ(O->Calibrate, "gpu.yaml");
  EXPECT_EQ(errorOf({"--calibrate=gpu.cu"}), "--calibrate=gpu.cu: the name must end in .yaml");
  EXPECT_EQ(errorOf({"--calibrate=gpu.yaml", "sim.cu"}), "--calibrate takes no input file");
}

TEST(Options, flagsFollowDashes) {
  llvm::Expected<Options> O = parse({"sim.cu", "--", "-std=c++17", "--check"});
  ASSERT_TRUE(bool(O)) << llvm::toString(O.takeError());
  EXPECT_FALSE(O->Check);
  EXPECT_EQ(O->Flags.Fixed, (std::vector<std::string>{"-std=c++17", "--check"}));
  O = parse({"sim.cu", "--"});
  ASSERT_TRUE(bool(O)) << llvm::toString(O.takeError());
  EXPECT_EQ(O->Flags.Fixed, std::vector<std::string>());
}

TEST(Options, errorsAreOneLineWithASuggestion) {
  EXPECT_EQ(errorOf({"sim.cu", "--layout=sao"}), "unknown layout 'sao'; did you mean 'soa'?");
  EXPECT_EQ(errorOf({"sim.cu", "--cost-model=troughput"}),
            "unknown cost model 'troughput'; did you mean 'throughput'?");
  EXPECT_EQ(errorOf({"sim.cu", "--ptx-compiler=gcc++"}), "unknown PTX compiler 'gcc++'; known: clang, nvcc");
  EXPECT_EQ(errorOf({"sim.cu", "--report=r.xml"}), "--report=r.xml: the name must end in .json, .html or .sarif");
  EXPECT_EQ(errorOf({"-i", "--check", "sim.cu"}), "--in-place and --check exclude each other");
  EXPECT_EQ(errorOf({}), "no input file; usage: restride [options] FILE... [-- compiler flags], or -p DIR for all files of its compile_commands.json");
  EXPECT_EQ(errorOf({"sim.cu", "--layuot=soa"}),
            "Unknown command line argument '--layuot=soa'.  Try: 'restride --help' "
            "Did you mean '--layout=soa'?");
  testing::internal::CaptureStderr();
  EXPECT_EQ(errorOf({"sim.cu", "-j", "many"}), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "restride: for the -j option: 'many' value invalid for uint argument!\n");
}

} // namespace
} // namespace restride
