#include "ptx/compile/Compile.h"

#include "tests/TemporaryFiles.h"

#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

namespace restride::ptx {
namespace {

const char *const Source = R"(#include <cuda_runtime.h>
#include "scale.h"
struct P { float x, y; };
extern "C" __global__ void step(P *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    p[i].x = sinf(p[i].y) * SCALE;
}
int main() { step<<<1, 32>>>(nullptr, 0); }
)";

class CompileTest : public testing::Test {
protected:
  void SetUp() override {
    Folder.write("scale.h", "#define SCALE 2.0f\n");
    File = Folder.write("sim.cu", Source);
    const char *Home = getenv("CUDA_PATH") ? getenv("CUDA_PATH") : getenv("CUDA_HOME");
    Options.CudaPath = Home ? Home : "/usr/local/cuda";
    Options.Flags = {"-std=c++17"};
  }
  std::unique_ptr<Compiler> clang(const std::string &Text = Source) {
    llvm::Expected<std::unique_ptr<Compiler>> C = createClangCompiler(File, Text, Options);
    EXPECT_TRUE(bool(C)) << llvm::toString(C.takeError());
    return C ? std::move(*C) : nullptr;
  }
  std::unique_ptr<Compiler> nvcc() {
    llvm::Expected<std::unique_ptr<Compiler>> C = createNvccCompiler(File, Options);
    EXPECT_TRUE(bool(C)) << llvm::toString(C.takeError());
    return C ? std::move(*C) : nullptr;
  }
  static std::string ptx(Compiler &C, llvm::ArrayRef<SourceText> Changed) {
    llvm::Expected<std::string> Ptx = C.compile(Changed);
    return Ptx ? *Ptx : "error: " + llvm::toString(Ptx.takeError());
  }
  std::string ptx(Compiler &C, const std::string &Text) { return ptx(C, {{File, Text}}); }
  static std::string replace(std::string Text, const std::string &From, const std::string &To) {
    return Text.replace(Text.find(From), From.size(), To);
  }
  static bool has(const std::string &Text, const std::string &What) { return Text.find(What) != std::string::npos; }

  test::TemporaryFolder Folder;
  std::string File;
  CompileOptions Options;
};

TEST_F(CompileTest, clangCompilesVariantsFromOnePreamble) {
  std::unique_ptr<Compiler> C = clang();
  std::string Ptx = ptx(*C, Source);
  EXPECT_TRUE(has(Ptx, ".target sm_90")) << Ptx;
  EXPECT_TRUE(has(Ptx, ".entry step(")) << Ptx;
  EXPECT_TRUE(has(Ptx, "sim.cu\"")) << Ptx;
  EXPECT_TRUE(has(Ptx, ".loc")) << Ptx;
  EXPECT_FALSE(has(Ptx, ".extern .func")) << "libdevice is not linked:\n" << Ptx;
  EXPECT_TRUE(has(ptx(*C, replace(Source, "float x, y", "float x, pad, y")), "+8]"));
}

TEST_F(CompileTest, clangCompilesAVariantWithOtherHeaders) {
  std::unique_ptr<Compiler> C = clang();
  std::string Other = replace(Source, "#include \"scale.h\"", "#define SCALE 3.0f");
  EXPECT_EQ(ptx(*C, Other), ptx(*clang(Other), Other));
  EXPECT_NE(ptx(*C, Other), ptx(*C, Source));
}

TEST_F(CompileTest, clangCompilesAFileThatBeginsWithCode) {
  std::string Text = "struct Q { int a; };\n" + std::string(Source);
  EXPECT_TRUE(has(ptx(*clang(Text), Text), ".entry step("));
}

TEST_F(CompileTest, clangKnowsTexturesAndSpecialFunctions) {
  std::string Text = std::string(Source) +
                     "__global__ void t(cudaTextureObject_t o, float *r) { *r = tex1D<float>(o, 1); }\n"
                     "double f(double x) { return std::riemann_zeta(x); }\n";
  std::unique_ptr<Compiler> C = clang(Text);
  EXPECT_TRUE(has(ptx(*C, Text), "tex.1d.v4.f32")) << ptx(*C, Text);
  EXPECT_TRUE(has(ptx(*C, Source), ".entry step("));
}

TEST_F(CompileTest, clangAliasesAsNvccDoes) {
  std::string Text = "#include \"scale.h\"\n"
                     "extern \"C\" __global__ void copy(float *f, int *n) { f[0] = SCALE; n[0] = 2; f[1] = f[0]; }\n";
  EXPECT_FALSE(has(ptx(*clang(Text), Text), "\tld.global")) << "an int is no float";
  Options.StrictAliasing = false;
  EXPECT_TRUE(has(ptx(*clang(Text), Text), "\tld.global"));
  EXPECT_TRUE(has(ptx(*nvcc(), Text), "\tld.global"));
  Options.Flags.push_back("-fstrict-aliasing");
  EXPECT_FALSE(has(ptx(*clang(Text), Text), "\tld.global")) << "the user's flags win";
}

TEST_F(CompileTest, clangCopiesRecordsAsNvccDoes) {
  std::unique_ptr<Compiler> C = clang();
  std::string Ptx = ptx(*C, replace(replace(Source, "float x, y", "float x, y, z, w"), "p[i].x = sinf(p[i].y) * SCALE", "p[i] = p[n - i]"));
  EXPECT_TRUE(has(Ptx, "st.global")) << Ptx;
  EXPECT_LT(Ptx.rfind("ld.global"), Ptx.find("st.global")) << "all is loaded first:\n" << Ptx;
}

/// Loads and stores of a kernel, `ld.global.v4` as in "v4 v4 b32", in their order, types left out.
static std::string copiesIn(const std::string &Ptx) {
  std::string Out;
  for (llvm::StringRef Rest = Ptx; Rest.contains(".global");) {
    auto [Before, After] = Rest.split(".global");
    if (Before.ends_with("ld") || Before.ends_with("st")) {
      After.consume_front(".nc");
      Out += (Out.empty() ? "" : " ") + (After.starts_with(".v") ? After.substr(1, 2).str() : std::string("one"));
    }
    Rest = After;
  }
  return Out;
}

TEST_F(CompileTest, clangCopiesMemberArraysAsNvccDoes) {
  auto copy = [](const std::string &Struct) {
    return Struct + ";\nextern \"C\" __global__ void step(P *out, const P *in) { out[threadIdx.x] = in[blockIdx.x]; }\n";
  };
  const std::string Aligned = copy("struct __align__(16) P { double at; float pos[3]; short s; unsigned char rgb[3]; float v; }");
  EXPECT_EQ(copiesIn(ptx(*clang(Aligned), Aligned)), "v4 v4 v4 v4");
  EXPECT_EQ(copiesIn(ptx(*nvcc(), Aligned)), "v4 v4 v4 v4");
  const std::string Plain = copy("struct P { float f; unsigned char name[12]; int k; }");
  EXPECT_EQ(copiesIn(ptx(*clang(Plain), Plain)), "one one one one one one one one one one");
  EXPECT_EQ(copiesIn(ptx(*nvcc(), Plain)), "one one one one one one one one one one");
}

/// A record of which one field is used, and which is chosen between two.
static const char *const Passed = "#include \"scale.h\"\n"
                                  "struct __align__(16) P { float x, y, z, w; int k; float u, v, s, t; short m, f; };\n"
                                  "extern \"C\" __global__ void step(const P *in, P *out, int n) {\n"
                                  "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                  "  P p = {};\n"
                                  "  if (i < n) p = in[i];\n"
                                  "  if (p.k > 0) out[p.k] = p;\n"
                                  "}\n";

TEST_F(CompileTest, clangKeepsRecordsInRegistersAsNvccDoes) {
  Options.StrictAliasing = false;
  for (const std::string &Ptx : {ptx(*clang(Passed), Passed), ptx(*nvcc(), Passed)}) {
    EXPECT_FALSE(has(Ptx, ".local")) << Ptx;
    EXPECT_TRUE(has(Ptx, "st.global.v4")) << Ptx;
    EXPECT_TRUE(has(Ptx, "+40]")) << "bytes that only __align__ adds are copied:\n" << Ptx;
  }
}

TEST_F(CompileTest, clangCompilesForOldGpus) {
  Options.Arch = "sm_52";
  EXPECT_TRUE(has(ptx(*clang(), Source), ".target sm_52"));
}

TEST_F(CompileTest, clangSaysWhatIsWrong) {
  std::unique_ptr<Compiler> C = clang();
  EXPECT_EQ(ptx(*C, replace(Source, "p[i].y", "p[i].z")), "error: " + File + ":7:24: no member named 'z' in 'P'");
  EXPECT_TRUE(has(ptx(*C, Source), ".entry step(")) << "an error stays with its variant";
}

TEST_F(CompileTest, clangSaysWhatIsWrongInHeaders) {
  Folder.write("scale.h", "#error no scale\n");
  EXPECT_EQ(ptx(*clang(), Source), "error: " + Folder.path("scale.h") + ":1:2: no scale");
}

TEST_F(CompileTest, clangRefusesBadFlags) {
  Options.Flags = {"--no-such-flag"};
  llvm::Expected<std::unique_ptr<Compiler>> C = createClangCompiler(File, Source, Options);
  EXPECT_EQ(llvm::toString(C.takeError()), "unknown argument: '--no-such-flag'");
}

TEST_F(CompileTest, nvccCompilesVariants) {
  std::unique_ptr<Compiler> C = nvcc();
  std::string Ptx = ptx(*C, replace(Source, "float x, y", "float x, pad, y"));
  EXPECT_TRUE(has(Ptx, ".target sm_90")) << Ptx;
  EXPECT_TRUE(has(Ptx, ".entry step(")) << Ptx;
  EXPECT_TRUE(has(Ptx, File)) << Ptx;
  EXPECT_TRUE(has(Ptx, "+8]")) << Ptx;
}

TEST_F(CompileTest, nvccSaysWhatIsWrong) {
  EXPECT_EQ(ptx(*nvcc(), replace(Source, "p[i].y", "p[i].z")),
            "error: " + File + "(7): error: class \"P\" has no member \"z\"");
}

TEST_F(CompileTest, nvccMustBeThere) {
  Options.CudaPath = "/nowhere";
  llvm::Expected<std::unique_ptr<Compiler>> C = createNvccCompiler(File, Options);
  EXPECT_EQ(llvm::toString(C.takeError()),
            "cannot run '/nowhere/bin/nvcc'; use --ptx-compiler=clang or another --cuda-path");
}

} // namespace
} // namespace restride::ptx
