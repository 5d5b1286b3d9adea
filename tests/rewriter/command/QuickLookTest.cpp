#include "rewriter/command/QuickLook.h"

#include "tests/TemporaryFiles.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

SourceCommand command(std::string File, std::vector<std::string> Flags = {}) {
  SourceCommand Out;
  Out.File = std::move(File);
  Out.Directory = "/";
  Out.Flags = std::move(Flags);
  return Out;
}

TEST(QuickLookTest, aKernelInTheFile) {
  test::TemporaryFolder Folder;
  EXPECT_TRUE(mayHaveKernel(command(Folder.write("a.cu", "__global__ void f() {}"))));
  EXPECT_FALSE(mayHaveKernel(command(Folder.write("b.cpp", "#include <vector>\nint main() {}"))));
}

TEST(QuickLookTest, aKernelInAHeader) {
  test::TemporaryFolder Folder;
  Folder.write("include/deep/kernels.cuh", "#define KERNEL __global__\n");
  Folder.write("include/all.h", "# include \"deep/kernels.cuh\"\n");
  std::string File = Folder.write("src/a.cpp", "  #include <all.h>\n");
  EXPECT_FALSE(mayHaveKernel(command(File)));
  EXPECT_TRUE(mayHaveKernel(command(File, {"-I" + Folder.path("include")})));
  EXPECT_TRUE(mayHaveKernel(command(File, {"-isystem", Folder.path("include")})));
  std::string Plain = Folder.write("src/b.cpp", "int b;\n");
  EXPECT_TRUE(mayHaveKernel(command(Plain, {"-include", Folder.path("include/all.h")})));
}

TEST(QuickLookTest, headersInACircle) {
  test::TemporaryFolder Folder;
  Folder.write("a.h", "#include \"b.h\"\n");
  Folder.write("b.h", "#include \"a.h\"\n");
  EXPECT_FALSE(mayHaveKernel(command(Folder.write("a.cpp", "#include \"a.h\"\n"))));
}

TEST(QuickLookTest, whatCannotBeReadIsForTheParse) {
  test::TemporaryFolder Folder;
  Folder.write("folder.cu/x", "");
  EXPECT_TRUE(mayHaveKernel(command(Folder.path("folder.cu"))));
}

} // namespace
} // namespace restride
