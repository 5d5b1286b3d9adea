#include "tests/program/ProgramOf.h"

#include "clang/Frontend/ASTUnit.h"
#include "clang/Tooling/Tooling.h"

namespace restride {

static const char *const Runtime = R"(
#pragma clang system_header
#define __global__ __attribute__((global))
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
typedef unsigned long size_t;
struct dim3 { unsigned x, y, z; __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {} };
typedef struct CUstream_st *cudaStream_t;
enum cudaError_t { cudaSuccess };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost };
extern "C" cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);
extern "C" unsigned __cudaPushCallConfiguration(dim3, dim3, size_t = 0, cudaStream_t = 0);
extern "C" cudaError_t cudaMalloc(void **, size_t);
extern "C" cudaError_t cudaMemcpy(void *, const void *, size_t, cudaMemcpyKind);
template <class T> cudaError_t cudaMemcpyToSymbol(const T &, const void *, size_t, size_t = 0, cudaMemcpyKind = cudaMemcpyHostToDevice);
extern "C" int atoi(const char *);
struct P { float x, y; };
)";

void readText(ProgramFacts &Facts, const std::string &File, const std::string &Text,
              clang::tooling::FileContentMappings Headers, bool Alone) {
  Headers.push_back({"/cuda/runtime.h", Runtime});
  std::unique_ptr<clang::ASTUnit> Ast = clang::tooling::buildASTFromCodeWithArgs(
      "#include <runtime.h>\n" + Text,
      {"-x", "cuda", "--cuda-host-only", "-nocudainc", "-nocudalib", "-isystem", "/cuda", "-std=c++17", "-Wno-unknown-cuda-version"},
      File, "restride", std::make_shared<clang::PCHContainerOperations>(), clang::tooling::getClangStripDependencyFileAdjuster(), Headers);
  EXPECT_TRUE(Ast && !Ast->getDiagnostics().hasErrorOccurred());
  readUnit(Ast->getASTContext(), {}, Alone, false, Facts);
}

Program programOf(const std::string &Text) {
  ProgramFacts Facts;
  readText(Facts, "/code/input.cu", Text);
  return assemble(std::move(Facts));
}

} // namespace restride
