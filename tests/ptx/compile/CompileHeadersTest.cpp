// Variants that change headers: the same programs through Clang and nvcc.
#include "ptx/compile/Compile.h"

#include "tests/TemporaryFiles.h"

#include <gtest/gtest.h>

namespace restride::ptx {
namespace {

const char *const Record = "struct P { float x, y; };\n";
const char *const WideRecord = "struct P { float x, pad, y; };\n";
const char *const Kernel = "extern \"C\" __global__ void step(P *p) { p[threadIdx.x].x = p[threadIdx.x].y; }\n";

class CompileHeaders : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    const char *Home = getenv("CUDA_PATH") ? getenv("CUDA_PATH") : getenv("CUDA_HOME");
    Options.CudaPath = Home ? Home : "/usr/local/cuda";
    Options.Flags = {"-std=c++17"};
    Options.WorkingDirectory = Folder.path();
  }
  void create(const std::string &MainFile) {
    llvm::Expected<std::unique_ptr<Compiler>> Created =
        std::string(GetParam()) == "nvcc" ? createNvccCompiler(Folder.path(MainFile), Options)
                                          : createClangCompiler(Folder.path(MainFile), Folder.read(MainFile), Options);
    ASSERT_TRUE(bool(Created)) << llvm::toString(Created.takeError());
    C = std::move(*Created);
  }
  /// "narrow" and "wide" as y is at byte 4 and 8 of P, with \p Changed as {name, text}.
  std::string recordIn(std::vector<SourceText> Changed) {
    for (SourceText &S : Changed)
      S.Path = Folder.path(S.Path);
    llvm::Expected<std::string> Ptx = C->compile(Changed);
    if (!Ptx)
      return "error: " + llvm::toString(Ptx.takeError());
    Last = *Ptx;
    if (Last.find(".entry step(") == std::string::npos)
      return "no kernel";
    return Last.find("+8]") != std::string::npos ? "wide" : Last.find("+4]") != std::string::npos ? "narrow" : Last;
  }

  test::TemporaryFolder Folder;
  CompileOptions Options;
  std::unique_ptr<Compiler> C;
  std::string Last; ///< PTX
};

TEST_P(CompileHeaders, aRecordInAHeader) {
  Folder.write("record.h", Record);
  Folder.write("sim.cu", "#include \"record.h\"\n" + std::string(Kernel));
  create("sim.cu");
  EXPECT_EQ(recordIn({}), "narrow");
  EXPECT_EQ(recordIn({{"record.h", WideRecord}}), "wide");
  EXPECT_EQ(recordIn({{"record.h", Record}}), "narrow");
  EXPECT_EQ(recordIn({{"sim.cu", WideRecord + std::string(Kernel)}}), "wide");
  EXPECT_EQ(Folder.read("record.h"), Record);
  EXPECT_EQ(Folder.count(), 2u);
}

TEST_P(CompileHeaders, mainFileAndHeaderTogether) {
  Folder.write("record.h", Record);
  Folder.write("sim.cu", "#include <cstdio>\n#include \"record.h\"\n" + std::string(Kernel));
  create("sim.cu");
  EXPECT_EQ(recordIn({{"sim.cu", "#include \"record.h\"\ntypedef Q P;\n" + std::string(Kernel)},
                      {"record.h", "struct Q { float x, pad, y; };\n"}}),
            "wide");
}

TEST_P(CompileHeaders, aKernelInAHeader) {
  Folder.write("kernels/step.cuh", "#pragma once\n#include \"../record.h\"\n" + std::string(Kernel));
  Folder.write("record.h", std::string("#pragma once\n") + Record);
  Folder.write("sim.cu", "#include \"record.h\"\n#include \"kernels/step.cuh\"\nint main() { step<<<1, 1>>>(nullptr); }\n");
  create("sim.cu");
  EXPECT_EQ(recordIn({}), "narrow");
  EXPECT_NE(Last.find("\"" + Folder.path("kernels/step.cuh") + "\""), std::string::npos) << Last;
  EXPECT_EQ(recordIn({{"record.h", std::string("#pragma once\n") + WideRecord}}), "wide");
  EXPECT_NE(Last.find("\"" + Folder.path("kernels/step.cuh") + "\""), std::string::npos) << Last;
  EXPECT_EQ(recordIn({{"kernels/step.cuh", "#pragma once\n" + std::string(WideRecord) + Kernel},
                      {"record.h", ""}}),
            "wide");
}

TEST_P(CompileHeaders, aHeaderThatAnUnchangedHeaderIncludes) {
  Folder.write("src/sim.cu", "#include \"../include/all.h\"\n" + std::string(Kernel));
  Folder.write("include/all.h", "#include \"detail/record.h\"\n#include \"../common/types.h\"\n");
  Folder.write("include/detail/record.h", Record);
  Folder.write("common/types.h", "typedef P Q;\n");
  create("src/sim.cu");
  EXPECT_EQ(recordIn({{"include/detail/record.h", WideRecord}}), "wide");
}

TEST_P(CompileHeaders, headersInFoldersOfTheCommandLine) {
  Folder.write("src/sim.cu", "#include <sim/all.h>\n#include <plain.h>\n" + std::string(Kernel));
  Folder.write("include/sim/all.h", "#include <sim/record.h>\n#include \"macros.h\"\n");
  Folder.write("include/sim/record.h", Record);
  Folder.write("include/sim/macros.h", "#define ONE 1\n");
  Folder.write("other/plain.h", "#if ONE != 1\n#error macro\n#endif\n");
  Options.Flags.insert(Options.Flags.end(), {"-I", "include", "-I" + Folder.path("other")});
  create("src/sim.cu");
  EXPECT_EQ(recordIn({}), "narrow");
  EXPECT_EQ(recordIn({{"include/sim/record.h", WideRecord}}), "wide");
}

TEST_P(CompileHeaders, aHeaderThatTheCommandLineIncludes) {
  Folder.write("record.h", Record);
  Folder.write("sim.cu", "#include <cstdio>\n" + std::string(Kernel));
  Options.Flags.insert(Options.Flags.end(), {"-include", "record.h"});
  create("sim.cu");
  EXPECT_EQ(recordIn({}), "narrow");
  EXPECT_EQ(recordIn({{"record.h", WideRecord}}), "wide");
}

TEST_P(CompileHeaders, oneFileUnderTwoNames) {
  Folder.write("sub/other.h", "#include \"../record.h\"\n#include \"../link.h\"\n");
  Folder.write("real/record.h", std::string("#pragma once\n") + Record);
  std::filesystem::create_symlink(Folder.path("real/record.h"), Folder.path("record.h"));
  std::filesystem::create_symlink("record.h", Folder.path("link.h"));
  std::filesystem::create_directory_symlink("real", Folder.path("folder"));
  Folder.write("sim.cu", "#include \"sub/../record.h\"\n#include \"record.h\"\n#include \"folder/record.h\"\n"
                         "#include \"sub/other.h\"\n" + std::string(Kernel));
  create("sim.cu");
  EXPECT_EQ(recordIn({}), "narrow");
  EXPECT_EQ(recordIn({{"real/record.h", std::string("#pragma once\n") + WideRecord}}), "wide");
  EXPECT_EQ(recordIn({{"link.h", std::string("#pragma once\n") + WideRecord}}), "wide");
  EXPECT_EQ(recordIn({{"folder/record.h", "#ifndef R\n#define R\n" + std::string(WideRecord) + "#endif\n"}}), "wide");
}

TEST_P(CompileHeaders, macrosBetweenIncludes) {
  Folder.write("field.def", "FIELD(x)\nFIELD(y)\n");
  Folder.write("sim.cu", "struct P {\n#define FIELD(f) float f;\n#include \"field.def\"\n#undef FIELD\n};\n"
                         "enum {\n#define FIELD(f) index_##f,\n#include \"field.def\"\n#undef FIELD\n};\n" + std::string(Kernel));
  create("sim.cu");
  EXPECT_EQ(recordIn({{"field.def", "FIELD(x)\nFIELD(y)\n"}}), "narrow");
  EXPECT_EQ(recordIn({{"field.def", "FIELD(x)\nFIELD(pad)\nFIELD(y)\n"}}), "wide");
}

TEST_P(CompileHeaders, aMacroBeforeTheHeader) {
  Folder.write("record.h", "struct P { float x;\n#ifdef WIDE\nfloat pad;\n#endif\nfloat y; };\n");
  Folder.write("sim.cu", "#include <cstdio>\n#ifndef NARROW\n#define WIDE\n#include \"record.h\"\n#endif\n" + std::string(Kernel));
  create("sim.cu");
  EXPECT_EQ(recordIn({{"record.h", Folder.read("record.h") + "// changed\n"}}), "wide");
  Options.Flags.push_back("-DNARROW");
  create("sim.cu");
  EXPECT_EQ(recordIn({{"sim.cu", Record + std::string(Kernel)}}), "narrow");
}

/// What a system header makes of the user's macros must not be lost.
TEST_P(CompileHeaders, aHeaderThatSetsUpASystemHeader) {
  Folder.write("record.h", "#define NDEBUG\nstruct P { float x, y; };\n#include <cassert>\n");
  Folder.write("sim.cu", "#include \"record.h\"\n#include <vector>\n#include <cassert>\n"
                         "#define AS_TEXT(x) #x\n#define TEXT(x) AS_TEXT(x)\n"
                         "static_assert(sizeof(TEXT(assert(0))) > 1, \"\");\n"
                         "inline __host__ __device__ void f() { assert(no_such_name); }\n" + std::string(Kernel));
  create("sim.cu");
  EXPECT_EQ(recordIn({}), "narrow");
  EXPECT_EQ(recordIn({{"record.h", "#define NDEBUG\nstruct P { float x, pad, y; };\n#include <cassert>\n"}}), "wide");
}

/// Nor what comes of the order of the user's headers and the system's.
TEST_P(CompileHeaders, aSystemHeaderThatSetsUpAnother) {
  Folder.write("system/choose.h", "#ifdef WIDE\n#define PAD float pad;\n#else\n#define PAD\n#endif\n");
  Folder.write("system/has.h", "#define HAS_PAD\n#define PAD float pad;\n");
  Folder.write("chosen.h", "#define WIDE\n#include <choose.h>\nstruct P { float x; PAD float y; };\n");
  Folder.write("early.h", "struct P { float x;\n#ifdef HAS_PAD\nfloat pad;\n#endif\nfloat y; };\n");
  Folder.write("undone.h", "#include <has.h>\n#undef PAD\n#define PAD\nstruct P { float x; PAD float y; };\n");
  Folder.write("done.h", "#include <has.h>\nstruct P { float x; PAD float y; };\n");
  Options.Flags.insert(Options.Flags.end(), {"-isystem", "system"});
  for (auto [Header, Expected] : {std::pair("chosen.h", "wide"), {"early.h", "narrow"}, {"undone.h", "narrow"}, {"done.h", "wide"}}) {
    Folder.write("sim.cu", "#include \"" + std::string(Header) + "\"\n#include <has.h>\n" + Kernel);
    create("sim.cu");
    EXPECT_EQ(recordIn({}), Expected) << Header;
    EXPECT_EQ(recordIn({{Header, Folder.read(Header) + "// changed\n"}}), Expected) << Header;
  }
}

TEST_P(CompileHeaders, anErrorInAHeaderNamesIt) {
  Folder.write("record.h", Record);
  Folder.write("sim.cu", "#include \"record.h\"\n" + std::string(Kernel));
  create("sim.cu");
  std::string Nvcc = "(2): error: identifier \"flaot\" is undefined", Clang = ":2:7: unknown type name 'flaot'";
  EXPECT_EQ(recordIn({{"record.h", "struct P { float x;\n      flaot y; };\n"}}),
            "error: " + Folder.path("record.h") + (std::string(GetParam()) == "nvcc" ? Nvcc : Clang));
  EXPECT_EQ(recordIn({{"record.h", WideRecord}}), "wide");
}

TEST_P(CompileHeaders, namesWithSpaces) {
  Folder.write("my sim/my record.h", Record);
  Folder.write("my sim/sim.cu", "#include \"my record.h\"\n" + std::string(Kernel));
  create("my sim/sim.cu");
  EXPECT_EQ(recordIn({{"my sim/my record.h", WideRecord}}), "wide");
}

TEST_P(CompileHeaders, aHeaderUnderItsAbsoluteName) {
  Folder.write("record.h", Record);
  Folder.write("sim.cu", "#include \"" + Folder.path("record.h") + "\"\n" + std::string(Kernel));
  create("sim.cu");
  EXPECT_EQ(recordIn({}), "narrow");
  EXPECT_EQ(recordIn({{"record.h", WideRecord}}),
            std::string(GetParam()) == "nvcc"
                ? "error: nvcc cannot see a change of '" + Folder.path("record.h") +
                      "', which is included by its absolute name; use --ptx-compiler=clang"
                : "wide");
}

TEST_P(CompileHeaders, aHostSourceHasNoKernels) {
  Folder.write("host.cpp", "#include <cuda_runtime.h>\nthis is not looked at\n");
  create("host.cpp");
  llvm::Expected<std::string> Ptx = C->compile({{Folder.path("host.cpp"), "int x;"}});
  EXPECT_EQ(Ptx ? *Ptx : llvm::toString(Ptx.takeError()), "");
}

TEST_P(CompileHeaders, aHostSourceThatIsCompiledAsCuda) {
  Folder.write("sim.cpp", Record + std::string(Kernel));
  Options.Flags.insert(Options.Flags.end(), {"-x", "cu"});
  create("sim.cpp");
  EXPECT_EQ(recordIn({{"sim.cpp", WideRecord + std::string(Kernel)}}), "wide");
}

INSTANTIATE_TEST_SUITE_P(Both, CompileHeaders, testing::Values("clang", "nvcc"),
                         [](const testing::TestParamInfo<const char *> &Info) { return std::string(Info.param); });

} // namespace
} // namespace restride::ptx
