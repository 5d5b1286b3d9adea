// Functions that are called with several arrays.

#include "tests/program/ProgramOf.h"

using namespace restride;

static const char *const Kernel = "struct Q { float x, y; };\n__device__ void f(Q *q) { q->x = 1; }\n"
                                  "__global__ void k(Q *p, int n) { f(p + n); }\n";

TEST(Instances, separateArraysThatOneKernelGets) {
  Program P = programOf(std::string(Kernel) + R"(
    int main() {
      Q *a, *b;
      cudaMalloc((void **)&a, 64 * sizeof(Q));
      cudaMalloc((void **)&b, 32 * sizeof(Q));
      k<<<2, 32>>>(a, 1);
      k<<<1, 32>>>(b, 2);
    })");
  ASSERT_EQ(P.Candidates.size(), 2u);
  EXPECT_FALSE(P.Candidates[0].refused());
  EXPECT_NE(P.Candidates[0].Name, P.Candidates[1].Name);
  ASSERT_EQ(P.Functions.size(), 2u);
  EXPECT_EQ(P.Functions[0].Instances.size(), 2u);
  // Each array has its own launch.
  ASSERT_EQ(P.Launches.size(), 2u);
  EXPECT_NE(P.Launches[0].Instance, P.Launches[1].Instance);
  EXPECT_EQ(P.Launches[0].Grid[0] + P.Launches[1].Grid[0], 3u);
  for (const Candidate &C : P.Candidates)
    EXPECT_EQ(C.Kernels.size(), 1u);
}

TEST(Instances, shareWhatNoParameterBrings) {
  Program P = programOf(R"(
    struct Q { float x, y; };
    __global__ void k(Q *p) {
      __attribute__((shared)) Q cache[32];
      cache[0] = p[0];
      p[0].x = cache[1].y;
    }
    int main() {
      Q *a, *b;
      cudaMalloc((void **)&a, 64 * sizeof(Q));
      cudaMalloc((void **)&b, 32 * sizeof(Q));
      k<<<2, 32>>>(a);
      k<<<1, 32>>>(b);
    })");
  ASSERT_EQ(P.Candidates.size(), 3u); // and not a cache for each array
}

TEST(Instances, areOneForBuffersThatChangePlaces) {
  Program P = programOf(R"(
    struct Q { float x, y; };
    __global__ void k(const Q *p, Q *q) { q[0].x = p[0].y; }
    int main() {
      Q *a, *b;
      cudaMalloc((void **)&a, 64 * sizeof(Q));
      cudaMalloc((void **)&b, 64 * sizeof(Q));
      k<<<1, 32>>>(a, b);
      k<<<1, 32>>>(b, a);
    })");
  ASSERT_EQ(P.Candidates.size(), 1u);
  EXPECT_TRUE(P.Functions.empty());
}

TEST(Instances, ofARecursiveFunctionAreOne) {
  Program P = programOf(R"(
    struct Q { float x, y; };
    __device__ void g(Q *q, int n);
    __device__ void f(Q *q, int n) { if (n) g(q, n - 1); q[n].x = 1; }
    __device__ void g(Q *q, int n) { if (n) f(q, n - 1); }
    __global__ void k(Q *p) { f(p, 3); }
    __global__ void m(Q *p) { g(p, 3); }
    int main() {
      Q *a, *b;
      cudaMalloc((void **)&a, 64 * sizeof(Q));
      cudaMalloc((void **)&b, 64 * sizeof(Q));
      k<<<1, 1>>>(a);
      m<<<1, 1>>>(b);
    })");
  EXPECT_EQ(P.Candidates.size(), 1u);
}

TEST(Instances, doNotMixTheHostsArrayWithTheDevices) {
  const char *Text = R"(
    struct Q { float x, y; };
    __host__ __device__ float sum(const Q *q) { %s return q->x + q->y; }
    __global__ void k(Q *p) { p->x = sum(p); }
    int main() {
      Q *d, h[4];
      cudaMalloc((void **)&d, 64 * sizeof(Q));
      k<<<1, 1>>>(d);
      return sum(h);
    })";
  auto With = [&](const char *Statement) {
    std::string Out = Text;
    return programOf(Out.replace(Out.find("%s"), 2, Statement));
  };
  Program P = With("");
  ASSERT_EQ(P.Candidates.size(), 1u);
  EXPECT_FALSE(P.Candidates[0].refused());
  EXPECT_TRUE(With("static int calls;").Candidates[0].refused());
}

TEST(Units, seeOneHeaderAsOnePlace) {
  std::vector<std::pair<std::string, std::string>> Header{{"/code/q.h", "struct Q { float x, y; };\nvoid fill(Q *d);\n__global__ void k(Q *p);\n"}};
  ProgramFacts Facts;
  readText(Facts, "/code/a.cu", "#include \"q.h\"\n__global__ void k(Q *p) { p[0].x = 1; }\nvoid fill(Q *d) { k<<<1, 1>>>(d); }", Header, false);
  readText(Facts, "/code/b.cu", "#include \"q.h\"\nint main() { Q *d; cudaMalloc((void **)&d, 64 * sizeof(Q)); fill(d); }", Header, false);
  EXPECT_FALSE(Facts.Graph.conflict());
  Program P = assemble(std::move(Facts));
  ASSERT_EQ(P.Candidates.size(), 1u);
  EXPECT_FALSE(P.Candidates[0].refused());
  EXPECT_EQ(P.Candidates[0].Headers.size(), 1u);
  EXPECT_TRUE(P.Candidates[0].InHeader);
}

TEST(Units, thatDefineOneFunctionTwiceAreTwoPrograms) {
  ProgramFacts Facts;
  readText(Facts, "/code/a.cu", "int main() {}", {}, false);
  readText(Facts, "/code/b.cu", "int main() {}", {}, false);
  EXPECT_TRUE(Facts.Graph.conflict());
}

TEST(Units, refuseWhatNobodyDefines) {
  Program P = programOf(R"(
    struct Q { float x, y; };
    void fill(Q *d);
    __global__ void k(Q *p) { p[0].x = 1; }
    int main() {
      Q *d;
      cudaMalloc((void **)&d, 64 * sizeof(Q));
      fill(d);
      k<<<1, 1>>>(d);
    })");
  ASSERT_EQ(P.Candidates.size(), 1u);
  EXPECT_TRUE(P.Candidates[0].refused());
}
