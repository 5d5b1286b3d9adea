#include "ptx/compile/ToolkitHeaders.h"

#include "ptx/compile/ClangInvocation.h"
#include "tests/TemporaryFiles.h"

#include "clang/Frontend/CompilerInvocation.h"
#include "clang/Lex/PreprocessorOptions.h"

#include <gtest/gtest.h>

namespace restride::ptx {
namespace {

class ToolkitHeadersTest : public testing::Test {
protected:
  void SetUp() override {
    const char *Cache = getenv("XDG_CACHE_HOME"), *Home = getenv("CUDA_PATH") ? getenv("CUDA_PATH") : getenv("CUDA_HOME");
    Before = Cache ? Cache : "";
    setenv("XDG_CACHE_HOME", Folder.path("cache").c_str(), 1);
    Options.CudaPath = Home ? Home : "/usr/local/cuda";
    Options.Flags = {"-std=c++17"};
    File = Folder.write("a.cu", "__global__ void k(float *x) { x[threadIdx.x] = sinf(1); }\n");
  }
  void TearDown() override { Before.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", Before.c_str(), 1); }

  /// What a compilation begins with; empty without precompiled headers.
  std::string precompiled(Headers Set = Headers::Lean) {
    llvm::Expected<std::shared_ptr<clang::CompilerInvocation>> I =
        createInvocation(File, Options, Language::Cuda, Side::Host, Set);
    EXPECT_TRUE(bool(I)) << llvm::toString(I.takeError());
    return I ? (*I)->getPreprocessorOpts().ImplicitPCHInclude : "";
  }
  std::string name(const std::string &Pch) const { return Pch.substr(Folder.path().size() + 1); }

  test::TemporaryFolder Folder;
  CompileOptions Options;
  std::string File, Before;
};

TEST_F(ToolkitHeadersTest, AreKeptAndFoundAgain) {
  std::string Pch = precompiled();
  ASSERT_EQ(Pch.rfind(Folder.path("cache/restride/"), 0), 0u) << Pch;
  std::filesystem::file_time_type Written = std::filesystem::last_write_time(Pch);
  EXPECT_EQ(precompiled(), Pch);
  EXPECT_EQ(std::filesystem::last_write_time(Pch), Written);
}

TEST_F(ToolkitHeadersTest, DependOnTheFlagsAndNotOnTheFile) {
  std::string Pch = precompiled();
  Options.Flags.push_back("-DNDEBUG");
  EXPECT_NE(precompiled(), Pch);
  Options.Flags.pop_back();
  File = Folder.write("other/b.cu", "");
  EXPECT_EQ(precompiled(), Pch);
}

TEST_F(ToolkitHeadersTest, AreMadeAgainWhereAFileChanged) {
  std::string Pch = precompiled();
  Folder.write(name(Pch), "cut off");
  EXPECT_EQ(precompiled(), Pch);
  EXPECT_GT(std::filesystem::file_size(Pch), 1000u);
  std::string Stamps = Folder.read(name(Pch) + ".files");
  EXPECT_NE(Stamps.find("cuda_runtime.h\n"), std::string::npos);
  Folder.write(name(Pch) + ".files", "1" + Stamps);
  std::filesystem::file_time_type Written = std::filesystem::last_write_time(Pch);
  EXPECT_EQ(precompiled(), Pch);
  EXPECT_NE(std::filesystem::last_write_time(Pch), Written);
}

TEST_F(ToolkitHeadersTest, LeaveTheWorkingDirectoryAlone) {
  std::filesystem::path Before = std::filesystem::current_path();
  Options.WorkingDirectory = Folder.path();
  precompiled();
  EXPECT_EQ(std::filesystem::current_path(), Before);
}

TEST_F(ToolkitHeadersTest, AreLeftOutWithoutAFolder) {
  Folder.write("cache", "a file in the way");
  EXPECT_EQ(precompiled(), "");
}

TEST_F(ToolkitHeadersTest, AreLeftOutWhereErrorsAreReported) { EXPECT_EQ(precompiled(Headers::Full), ""); }

TEST_F(ToolkitHeadersTest, GiveTheSamePtx) {
  auto Compile = [&] {
    llvm::Expected<std::unique_ptr<Compiler>> C = createClangCompiler(File, Folder.read("a.cu"), Options);
    llvm::Expected<std::string> Ptx = C ? (*C)->compile({}) : C.takeError();
    EXPECT_TRUE(bool(Ptx)) << llvm::toString(Ptx.takeError());
    return Ptx ? *Ptx : "";
  };
  std::string With = Compile();
  EXPECT_GT(Folder.count(), 2u);
  setenv("XDG_CACHE_HOME", "/dev/null", 1);
  EXPECT_EQ(Compile(), With);
}

} // namespace
} // namespace restride::ptx
