#include "ptx/compile/SystemHeaders.h"

#include "ptx/compile/ClangInvocation.h"
#include "tests/TemporaryFiles.h"

#include "clang/Frontend/CompilerInvocation.h"

#include <gtest/gtest.h>

namespace restride::ptx {
namespace {

class SystemHeaders : public testing::Test {
protected:
  /// Of a main file with \p Text.
  std::string headers(const std::string &Text, std::vector<std::string> Flags = {}) {
    return systemHeaders(Text, Folder.path("sim.cu"), folders(std::move(Flags))).value_or("nothing");
  }
  size_t first(const std::string &Text, std::vector<std::string> Flags = {}) {
    return firstUserInclude(Text, Folder.path("sim.cu"), folders(std::move(Flags)));
  }
  UserFolders folders(std::vector<std::string> Flags) {
    CompileOptions Options;
    const char *Home = getenv("CUDA_PATH") ? getenv("CUDA_PATH") : getenv("CUDA_HOME");
    Options.CudaPath = Home ? Home : "/usr/local/cuda";
    Options.Flags = std::move(Flags);
    Options.WorkingDirectory = Folder.path();
    return UserFolders(*llvm::cantFail(
        createInvocation(Folder.path("sim.cu"), Options, Language::Cuda, Side::Device, ptx::Headers::Full)));
  }
  test::TemporaryFolder Folder;
};

TEST_F(SystemHeaders, whichIncludesAreTheUsers) {
  Folder.write("a.h", "");
  Folder.write("include/b.h", "");
  Folder.write("system/c.h", "");
  EXPECT_EQ(first("#include <vector>\n"), std::string::npos);
  EXPECT_EQ(first("#include <a.h>\n#include <b.h>\n#include \"vector\"\n"), std::string::npos);
  EXPECT_EQ(first("// text\n#include <vector>\n  # include \"a.h\"\n"), 28u);
  EXPECT_EQ(first("#include <b.h>\n", {"-Iinclude"}), 0u);
  EXPECT_EQ(first("#include <c.h>\n#include \"c.h\"\n", {"-isystem", "system"}), std::string::npos);
  EXPECT_EQ(first("#include <c.h>\n", {"-isystem", "system", "-Isystem"}), std::string::npos);
  EXPECT_EQ(first("#include HEADER\n"), 0u);
  EXPECT_EQ(first("#include \"" + Folder.path("a.h") + "\"\n"), 0u);
  EXPECT_EQ(first("/*\n#include \"a.h\"\n*/\n"), std::string::npos);
}

TEST_F(SystemHeaders, comeWithTheMacrosBeforeThem) {
  Folder.write("a.h", "#ifndef A_H\n#define A_H\n#include <vector>\nint a;\n#endif\n");
  EXPECT_EQ(headers("#include \"a.h\"\nint b;\n"), "#ifdef A_H\n#define restride_had_A_H\n#endif\n"
                                                    "#ifndef A_H\n"
                                                    "#if defined(A_H) && !defined(restride_user_A_H)\n#error\n#endif\n"
                                                    "#define restride_user_A_H\n"
                                                    "#define A_H\n"
                                                    "#include <vector>\n"
                                                    "#endif\n"
                                                    "#ifdef restride_user_A_H\n#undef A_H\n#endif\n"
                                                    "#if defined(A_H) != defined(restride_had_A_H)\n#error\n#endif\n");
}

TEST_F(SystemHeaders, ofFilesThatAreReadOnce) {
  Folder.write("a.h", "#pragma once\n#include <vector>\n");
  Folder.write("sub/b.h", "#include \"../a.h\"\n");
  std::string Once = "#ifndef restride_once_0\n#define restride_once_0\n#include <vector>\n#endif\n";
  EXPECT_EQ(headers("#include \"a.h\"\n#include \"sub/b.h\"\n"), Once + Once);
}

TEST_F(SystemHeaders, areLeftWhereTheyAre) {
  Folder.write("a.h", "int a;\n");
  Folder.write("b.h", "#include \"b.h\"\n#include_next <b.h>\n");
  EXPECT_EQ(headers("#include <vector>\n"), "nothing") << "no header of the user's";
  EXPECT_EQ(headers("#include <vector>\n#include \"a.h\"\n"), "nothing") << "none comes after it";
  EXPECT_EQ(headers("#include \"a.h\"\n#include HEADER\n#include <vector>\n"), "nothing");
  EXPECT_EQ(headers("#include \"b.h\"\n#include <vector>\n"), "nothing");
}

TEST_F(SystemHeaders, keepTheLinesOfMacros) {
  Folder.write("a.h", "");
  std::string Out = headers("#include \"a.h\"\n#define TWO(x) \\\n  #x \\\n  \nint i;\n#include <vector>\n");
  EXPECT_NE(Out.find("#define TWO(x) \\\n  #x \\\n  \n"), std::string::npos) << Out;
  EXPECT_NE(Out.find("\n#include <vector>\n"), std::string::npos) << Out;
}

} // namespace
} // namespace restride::ptx
