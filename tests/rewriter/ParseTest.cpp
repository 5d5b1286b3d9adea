#include "rewriter/Parse.h"

#include "tests/TemporaryFiles.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

class ParseTest : public testing::Test {
protected:
  llvm::Expected<ParsedSource> parseText(const std::string &Text, std::vector<std::string> Flags = {}) {
    llvm::Expected<CudaToolkit> Toolkit = findCudaToolkit("");
    if (!Toolkit)
      return Toolkit.takeError();
    FlagSources Sources;
    Sources.Fixed = std::move(Flags);
    llvm::Expected<SourceCommand> Command = commandFor(Folder.write("sim.cu", Text), Sources);
    if (!Command)
      return Command.takeError();
    return parse(*Command, *Toolkit);
  }
  std::string errorOf(const std::string &Text, std::vector<std::string> Flags = {}) {
    llvm::Expected<ParsedSource> Source = parseText(Text, std::move(Flags));
    return Source ? "" : llvm::toString(Source.takeError());
  }
  test::TemporaryFolder Folder;
};

TEST_F(ParseTest, seesHostAndKernels) {
  llvm::Expected<ParsedSource> Source = parseText("#include <vector>\n"
                                                  "__global__ void k(float *x) { x[threadIdx.x] *= 2; }\n"
                                                  "int main() { k<<<1, 32>>>(nullptr); }\n");
  ASSERT_TRUE(bool(Source)) << llvm::toString(Source.takeError());
  unsigned Functions = 0;
  clang::ASTContext &Context = Source->Ast->getASTContext();
  for (const clang::Decl *D : Context.getTranslationUnitDecl()->decls())
    Functions += llvm::isa<clang::FunctionDecl>(D) && Context.getSourceManager().isInMainFile(D->getLocation());
  EXPECT_EQ(Functions, 2u);
  EXPECT_TRUE(Source->Skipped.empty());
}

TEST_F(ParseTest, listsWhatThePreprocessorSkipped) {
  std::string Text =
      "int a;\n#ifdef OTHER\nint b;\n#else\nint c;\n#endif\n#if 1\nint d;\n#elif defined(E)\nint e;\n#endif\n";
  llvm::Expected<ParsedSource> Source = parseText(Text);
  ASSERT_TRUE(bool(Source)) << llvm::toString(Source.takeError());
  std::vector<std::string> Skipped;
  for (SkippedRange R : Source->Skipped)
    Skipped.push_back(Text.substr(R.Begin, R.End - R.Begin));
  EXPECT_EQ(Skipped, (std::vector<std::string>{"#ifdef OTHER\nint b;\n#else", "#elif defined(E)\nint e;\n#endif"}));
}

TEST_F(ParseTest, warningsOfTheUserAreQuiet) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(errorOf("int f() { int *p; char *q = (char *)p; }\n#warning loud\n", {"-Wall", "-Werror"}), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(ParseTest, errorsAreShownAndReturned) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(errorOf("int f() { return x; }\n"), "'" + Folder.path("sim.cu") + "' does not parse; nothing is changed");
  std::string Shown = testing::internal::GetCapturedStderr();
  EXPECT_NE(Shown.find("sim.cu:1:18: error: use of undeclared identifier 'x'"), std::string::npos) << Shown;
}

TEST_F(ParseTest, badFlagsAreOneLine) {
  EXPECT_EQ(errorOf("", {"--no-such-flag"}), "unknown argument: '--no-such-flag'");
  testing::internal::CaptureStderr();
  EXPECT_NE(errorOf("", {"-std=c++99"}), "");
  testing::internal::GetCapturedStderr();
}

TEST_F(ParseTest, anEmptyFileParses) { EXPECT_EQ(errorOf(""), ""); }

TEST_F(ParseTest, missingFilesAndFolders) {
  llvm::Expected<CudaToolkit> Toolkit = findCudaToolkit("");
  ASSERT_TRUE(bool(Toolkit));
  SourceCommand Command;
  Command.File = Command.SpelledFile = Folder.path("none.cu");
  EXPECT_EQ(llvm::toString(parse(Command, *Toolkit).takeError()),
            "cannot read '" + Command.File + "': No such file or directory");
  Command.File = Command.SpelledFile = Folder.path();
  EXPECT_EQ(llvm::toString(parse(Command, *Toolkit).takeError()),
            "cannot read '" + Command.File + "': it is a directory");
}

TEST_F(ParseTest, knowsTexturesAndSpecialFunctions) {
  EXPECT_EQ(
      errorOf("#include <cmath>\n__global__ void k(cudaTextureObject_t t, float *r) { *r = tex1D<float>(t, 1); }\n"
              "double f(double x) { return std::riemann_zeta(x); }\n"),
      "");
}

TEST_F(ParseTest, seesWhatNvccFinds) {
  EXPECT_EQ(errorOf("#include <thrust/device_vector.h>\n"), "");
  EXPECT_EQ(errorOf("#include <immintrin.h>\n__m256 f(__m256 a) { return _mm256_add_ps(a, a); }\n",
                    {"-Xcompiler", "-mavx2,-fopenmp"}),
            "");
}

} // namespace
} // namespace restride
