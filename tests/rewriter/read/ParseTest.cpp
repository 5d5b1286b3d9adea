#include "rewriter/read/Parse.h"

#include "tests/TemporaryFiles.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/Frontend/ASTUnit.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

class ParseTest : public testing::Test {
protected:
  llvm::Expected<ParsedSource> parseText(const std::string &Text, std::vector<std::string> Flags = {},
                                         const std::string &Name = "sim.cu") {
    return parse(command(Folder.write(Name, Text), std::move(Flags)), toolkit());
  }
  static CudaToolkit toolkit() { return llvm::cantFail(findCudaToolkit("")); }
  static SourceCommand command(const std::string &File, std::vector<std::string> Flags = {}) {
    FlagSources Sources;
    Sources.Fixed = std::move(Flags);
    return llvm::cantFail(commandFor(File, Sources));
  }
  /// "name:text" of what is skipped.
  std::vector<std::string> skipped(const ParsedSource &Source) {
    std::vector<std::string> Out;
    for (const SkippedRange &R : Source.Skipped) {
      std::string Name = R.File.substr(Folder.path().size() + 1);
      Out.push_back(Name + ":" + Folder.read(Name).substr(R.Begin, R.End - R.Begin));
    }
    return Out;
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
  for (const SkippedRange &R : Source->Skipped) {
    EXPECT_EQ(R.File, Folder.path("sim.cu"));
    Skipped.push_back(Text.substr(R.Begin, R.End - R.Begin));
  }
  EXPECT_EQ(Skipped, (std::vector<std::string>{"#ifdef OTHER\nint b;\n#else", "#elif defined(E)\nint e;\n#endif"}));
}

TEST_F(ParseTest, listsTheUsersFiles) {
  Folder.write("include/a.h", "#pragma once\n#include <vector>\n#include \"../b.h\"\n");
  Folder.write("b.h", "int b;\n");
  Folder.write("system/s.h", "#ifdef OTHER\n#endif\n");
  Folder.write("forced.h", "int forced;\n");
  Folder.write("unread.h", "int unread;\n");
  std::filesystem::create_symlink("b.h", Folder.path("link.h"));
  llvm::Expected<ParsedSource> Source = parseText(
      "#include <a.h>\n#include <s.h>\n#include \"include/a.h\"\n#if 0\n#include \"unread.h\"\n#endif\n"
      "#define b c\n#include \"link.h\"\n",
      {"-I" + Folder.path("include"), "-isystem", Folder.path("system"), "-include", Folder.path("forced.h")});
  ASSERT_TRUE(bool(Source)) << llvm::toString(Source.takeError());
  EXPECT_EQ(Source->UserFiles, (std::vector<std::string>{Folder.path("sim.cu"), Folder.path("forced.h"),
                                                         Folder.path("include/a.h"), Folder.path("b.h")}));
  EXPECT_EQ(skipped(*Source), (std::vector<std::string>{"sim.cu:#if 0\n#include \"unread.h\"\n#endif"}));
}

TEST_F(ParseTest, listsWhatIsSkippedInHeaders) {
  Folder.write("twice.h", "#ifdef FIRST\nint a;\n#else\nint b;\n#endif\n#if 0\nint c;\n#endif\n");
  llvm::Expected<ParsedSource> Source =
      parseText("#define FIRST\n#include \"twice.h\"\n#undef FIRST\n#include \"./twice.h\"\n#ifdef FIRST\n#endif\n");
  ASSERT_TRUE(bool(Source)) << llvm::toString(Source.takeError());
  EXPECT_EQ(skipped(*Source),
            (std::vector<std::string>{"sim.cu:#ifdef FIRST\n#endif", "twice.h:#ifdef FIRST\nint a;\n#else",
                                      "twice.h:#else\nint b;\n#endif", "twice.h:#if 0\nint c;\n#endif"}));
}

TEST_F(ParseTest, hostSourcesAreCxx) {
  llvm::Expected<ParsedSource> Source = parseText(
      "#include <cuda_runtime.h>\n#ifdef __CUDA__\n#error CUDA\n#endif\nclass C {};\n"
      "void f(float *p) { cudaMemcpy(p, p, 4, cudaMemcpyDefault); }\n",
      {"-std=c++17"}, "host.cpp");
  ASSERT_TRUE(bool(Source)) << llvm::toString(Source.takeError());
  EXPECT_TRUE(Source->Ast->getLangOpts().CPlusPlus17 && !Source->Ast->getLangOpts().CUDA);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(bool(parseText("float *p = malloc(4);\n", {}, "early.cc"))) << "nothing is included by itself";
  testing::internal::GetCapturedStderr();
}

TEST_F(ParseTest, hostSourcesInCAreReadAsCxx) {
  std::string Text = "#include <cuda_runtime_api.h>\nstruct P { float x; };\nvoid f(struct P *p) { p->x = 1; }\n";
  llvm::Expected<ParsedSource> Source = parseText(Text, {"-std=c99"}, "host.c");
  ASSERT_TRUE(bool(Source)) << llvm::toString(Source.takeError());
  EXPECT_TRUE(Source->Ast->getLangOpts().CPlusPlus);
}

TEST_F(ParseTest, aHostSourceThatIsCompiledAsCuda) {
  EXPECT_EQ(llvm::toString(parseText("__global__ void k() {}\n", {"-x", "cu"}, "sim.cpp").takeError()), "");
}

TEST_F(ParseTest, checksASetOfFiles) {
  Folder.write("a.h", "#include \"b.h\"\n");
  std::string B = Folder.write("b.h", "#pragma once\ntypedef int T;\n");
  std::string Text = "#include \"a.h\"\n#include \"./b.h\"\nT t;\n", Sim = Folder.write("sim.cu", Text);
  auto Check = [&](llvm::ArrayRef<ptx::SourceText> Changed) {
    return llvm::toString(checkParses(command(Sim), toolkit(), Changed));
  };
  EXPECT_EQ(Check({}), "");
  EXPECT_EQ(Check({{B, "typedef int S;\n"}}), "unknown type name 'T'");
  EXPECT_EQ(Check({{B, "#pragma once\ntypedef int S;\nconstexpr int Once = 1;\n"},
                   {Sim, "#include \"a.h\"\n#include \"b.h\"\nS t;\n"}}), "");
  EXPECT_EQ(Folder.read("b.h"), "#pragma once\ntypedef int T;\n");
}

/// The compiler of the user will not take it for C++.
TEST_F(ParseTest, checksCAsC) {
  std::string Header = Folder.write("p.h", "struct P { float x; };\n");
  std::string Host = Folder.write("host.c", "#include \"p.h\"\nvoid f(struct P *p) { p->x = 1; }\n");
  EXPECT_EQ(llvm::toString(checkParses(command(Host, {"-std=c++17"}), toolkit(), {{Header, "struct P { float x; };\n// more\n"}})), "");
  EXPECT_EQ(llvm::toString(checkParses(command(Host), toolkit(), {{Header, "struct P { float x; };\ninline int f(P *p);\n"}})),
            "must use 'struct' tag to refer to type 'P'");
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
  SourceCommand Command;
  Command.File = Command.SpelledFile = Folder.path("none.cu");
  EXPECT_EQ(llvm::toString(parse(Command, toolkit()).takeError()),
            "cannot read '" + Command.File + "': No such file or directory");
  Command.File = Command.SpelledFile = Folder.path();
  EXPECT_EQ(llvm::toString(parse(Command, toolkit()).takeError()),
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

TEST_F(ParseTest, knowsWhatNvccKnows) {
  EXPECT_EQ(errorOf("__host__ __device__ int h(int a, int b) { return max(a, b); }\n"
                    "__global__ void k(float4 *p, int *a) {\n"
                    "  __stcs(p, p[1]); __stcg(a, 1);\n"
                    "  a[0] = __nv_atomic_load_n(a, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);\n"
                    "}\n"
                    "int main() { unsigned u = 1; return min(u, 2) + max(1.0f, 2.0) + h(1, 2) + isfinite(1.0f) + int(clock()); }\n"),
            "");
  EXPECT_EQ(errorOf("#if __CUDACC__\nint f(register int a) { return a; }\n#endif\n", {"-std=c++17"}), "");
  EXPECT_EQ(errorOf("int main() { return N + T + R; }\n", {"-DN=8", "-DT=1", "-DR=2"}), "");
  EXPECT_EQ(errorOf("#include <omp.h>\nint main() { return omp_get_max_threads(); }\n"), "");
}

TEST_F(ParseTest, isNvccToProgramsThatAsk) {
  std::string Text = "#ifndef __NVCC__\n#error not nvcc\n#endif\n#if __CUDACC_VER_MAJOR__ < 12\n#error old\n#endif\nint a;\n";
  llvm::Expected<ParsedSource> Source = parseText(Text);
  ASSERT_TRUE(bool(Source)) << llvm::toString(Source.takeError());
  EXPECT_EQ(Source->NvccMacros.front(), "-D__NVCC__");
  // What only Clang can read is read as by Clang.
  llvm::Expected<ParsedSource> Other = parseText("#ifdef __NVCC__\n#error nvcc\n#endif\nint a;\n");
  ASSERT_TRUE(bool(Other)) << llvm::toString(Other.takeError());
  EXPECT_TRUE(Other->NvccMacros.empty());
}

} // namespace
} // namespace restride
