// What the source says about launches, sizes and copies.

#include "tests/program/ProgramOf.h"

using namespace restride;

static Program find(const std::string &Code) {
  return programOf("struct Q { float x, y; };\n__global__ void k(Q *p, int n);\n"
                   "__global__ void k(Q *p, int n) { p[0].x = n; }\n" + Code);
}

TEST(Launches, areEvaluatedFromTheSource) {
  Program P = find(R"(
    int main(int argc, char **argv) {
      int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
      const int block = 128;
      Q *d;
      cudaMalloc((void **)&d, n * sizeof(Q));
      for (int s = 0; s < 10; ++s)
        k<<<(n + block - 1) / block, block>>>(d, n);
    })");
  ASSERT_EQ(P.Launches.size(), 1u);
  const Launch &L = P.Launches[0];
  EXPECT_EQ(L.Name, "k");
  EXPECT_EQ(L.Grid[0], 8192u);
  EXPECT_EQ(L.Block[0], 128u);
  EXPECT_EQ(L.Calls, 10);
  ASSERT_EQ(L.Arguments.size(), 2u);
  EXPECT_EQ(L.Arguments[1], 1 << 20);
  EXPECT_EQ(L.Notes, (std::vector<std::string>{"blocks: 8192 assumed from the source's default", "argument 'n' is taken as 1048576"}));
  ASSERT_EQ(P.Candidates.size(), 1u);
  EXPECT_EQ(P.Candidates[0].Elements.Count, 1 << 20);
  EXPECT_TRUE(P.Candidates[0].Elements.Assumed);
  EXPECT_FALSE(P.Candidates[0].refused());
}

TEST(Launches, sizesMayComeFromAFunctionWithTemporaries) {
  Program P = find(R"(
    namespace std { template <class T> const T &min(const T &a, const T &b) { return b < a ? b : a; } }
    int main(int argc, char **argv) {
      int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
      int kinds = std::min(n, 300);
      Q *d;
      cudaMalloc((void **)&d, kinds * sizeof(Q));
      k<<<1, 32>>>(d, n);
    })");
  ASSERT_EQ(P.Candidates.size(), 1u);
  EXPECT_EQ(P.Candidates[0].Elements.Count, 300);
  EXPECT_TRUE(P.Candidates[0].Elements.Assumed);
  ASSERT_EQ(P.Candidates[0].Kernels.size(), 1u);
  EXPECT_EQ(P.Candidates[0].Kernels[0].Position, 0u);
}

TEST(Launches, knowDim3AndWhatIsUnknown) {
  Program P = find(R"(
    int size();
    int main() {
      Q *d;
      cudaMalloc((void **)&d, 64 * sizeof(Q));
      dim3 grid(4, 5), block(16, 8);
      k<<<grid, block>>>(d, size());
    })");
  ASSERT_EQ(P.Launches.size(), 1u);
  const Launch &L = P.Launches[0];
  EXPECT_EQ(L.Grid[1], 5u);
  EXPECT_EQ(L.Grid[2], 1u);
  EXPECT_EQ(L.Block[1], 8u);
  EXPECT_EQ(L.Arguments[1], std::nullopt);
  EXPECT_EQ(L.Notes, (std::vector<std::string>{"argument 'n' is not known"}));
}

TEST(Launches, knowDim3ThatFunctionsReturnAndAreGiven) {
  auto grid = [](const std::string &Source) {
    Program P = find("dim3 cover(int nx, int ny, dim3 b) { return dim3((nx + b.x - 1) / b.x, (ny + b.y - 1) / b.y); }\n" + Source);
    const Launch &L = P.Launches.at(0);
    return std::vector<uint64_t>{L.Grid[0], L.Grid[1], L.Block[0], L.Block[1]};
  };
  const std::vector<uint64_t> Expected = {8, 16, 32, 8};
  EXPECT_EQ(grid("int main() { Q *d; cudaMalloc((void **)&d, 64 * sizeof(Q)); dim3 b(32, 8); k<<<cover(256, 128, b), b>>>(d, 1); }"), Expected);
  EXPECT_EQ(grid("void run(Q *d, dim3 g, dim3 b) { k<<<g, b>>>(d, 1); }\n"
                 "int main() { Q *d; cudaMalloc((void **)&d, 64 * sizeof(Q)); const dim3 b(32, 8); run(d, cover(256, 128, b), b); run(d, dim3(8, 16), b); }"),
            Expected);
  EXPECT_EQ(grid("struct Solver { dim3 grid, block; Solver(int n) : grid(n / 32, n / 16), block(32, 8) {} void run(Q *d) { k<<<grid, block>>>(d, 1); } };\n"
                 "int main() { Q *d; cudaMalloc((void **)&d, 64 * sizeof(Q)); Solver s(256); s.run(d); }"),
            Expected);
  EXPECT_EQ(grid("void run(Q *d, dim3 g) { k<<<g, 32>>>(d, 1); }\n"
                 "int main() { Q *d; cudaMalloc((void **)&d, 64 * sizeof(Q)); run(d, dim3(8, 16)); run(d, dim3(8, 4)); }"),
            (std::vector<uint64_t>{8, 0, 32, 1}))
      << "one of two";
}

TEST(Launches, aRatioMayComeFromAnArgumentToo) {
  Program P = programOf(R"(
    extern "C" double atof(const char *);
    struct Q { float a; };
    __global__ void k(Q *p, int n) { p[n].a = 0; }
    int main(int argc, char **argv) {
      int variables = argc > 1 ? atoi(argv[1]) : 1000;
      double ratio = argc > 2 ? atof(argv[2]) : 4.25;
      int n = (int)(variables * ratio);
      Q *d;
      cudaMalloc((void **)&d, n * sizeof(Q));
      k<<<(n + 255) / 256, 256>>>(d, n);
    })");
  ASSERT_EQ(P.Launches.size(), 1u);
  EXPECT_EQ(P.Launches[0].Arguments.at(1), 4250);
}

TEST(Launches, aConditionWithAKnownDefaultChoosesItsArm) {
  Program P = find(R"(
    int main(int argc, char **argv) {
      int m = argc > 1 ? atoi(argv[1]) : 1024;
      int n = argc > 2 ? atoi(argv[2]) : m < 16 ? 2 : m / 8;
      Q *d;
      cudaMalloc((void **)&d, m * sizeof(Q));
      k<<<1, 32>>>(d, n);
    })");
  ASSERT_EQ(P.Launches.size(), 1u);
  EXPECT_EQ(P.Launches[0].Arguments[1], 128);
}

TEST(Launches, knowHelpersRoundingAndMembers) {
  Program P = find(R"(
    double ceil(double);
    static int blocks(int n, int size) { return (n + size - 1) / size; }
    int main() {
      const int n = 1000, m = 3000;
      Q *d;
      cudaMalloc((void **)&d, n * sizeof(Q));
      dim3 block(32, 8);
      dim3 grid((size_t)ceil((float)n / (float)block.x), (size_t)ceil((float)m / (float)block.y));
      k<<<grid, block>>>(d, blocks(n, 256));
      dim3 other;
      other.x = blocks(m, 128);
      other.y = 2;
      k<<<other, 128>>>(d, n);
      k<<<ceil(n / 64.0), 64>>>(d, n);
    })");
  ASSERT_EQ(P.Launches.size(), 1u); // of one kernel; the first says how large it is
  EXPECT_EQ(P.Launches[0].Grid[0], 32u);
  EXPECT_EQ(P.Launches[0].Grid[1], 375u);
  EXPECT_EQ(P.Launches[0].Arguments[1], 4);
}

TEST(Launches, knowMembersSetOneByOne) {
  Program P = find(R"(
    static int blocks(int n, int size) { return (n + size - 1) / size; }
    int main() {
      const int n = 3000;
      Q *d;
      cudaMalloc((void **)&d, n * sizeof(Q));
      int unused = blocks(1, 7);
      dim3 grid;
      grid.x = blocks(n, 128);
      grid.y = 2;
      k<<<grid, 128>>>(d, n);
    })");
  ASSERT_EQ(P.Launches.size(), 1u);
  EXPECT_EQ(P.Launches[0].Grid[0], 24u);
  EXPECT_EQ(P.Launches[0].Grid[1], 2u);
}

TEST(Launches, aGridThatDependsOnItselfIsNotKnown) {
  Program P = find(R"(
    int size();
    int main() {
      Q *d;
      cudaMalloc((void **)&d, 64 * sizeof(Q));
      dim3 grid;
      grid.x = grid.x * size();
      k<<<grid, 128>>>(d, 1);
    })");
  ASSERT_EQ(P.Launches.size(), 1u);
  EXPECT_EQ(P.Launches[0].Grid[0], 0u);
}

static std::optional<int64_t> argument(const std::string &Host, const std::string &Before = "") {
  Program P = find("namespace std { template <class T> struct initializer_list { const T *first; unsigned long count; const T *begin() const; const T *end() const; };\n"
                   "template <class T> struct vector { vector(); vector(int); vector(initializer_list<T>); int size() const; "
                   "void reserve(unsigned long); void clear(); void push_back(T); void resize(int); T *begin(); T *end(); T &operator[](unsigned long); };\n"
                   "template <class T, unsigned long N> struct array { T d[N]; T *begin(); T *end(); }; }\nvoid build(std::vector<int> &);\n" + Before +
                   "int main(int argc, char **argv) {\n  int n = argc > 1 ? atoi(argv[1]) : 1000;\n  Q *d;\n"
                   "  cudaMalloc((void **)&d, n * sizeof(Q));\n" + Host + "}");
  return P.Launches.empty() || P.Launches[0].Arguments.size() < 2 ? std::nullopt : P.Launches[0].Arguments[1];
}

TEST(Launches, followALoopThatOnlyChangesAVariable) {
  const std::string Launch = "k<<<1, 32>>>(d, m);";
  EXPECT_EQ(argument("int m = 64; while (m < 2 * n) m *= 2;" + Launch), 2048);
  EXPECT_EQ(argument("int m = 64; while (m < 2 * n) { m <<= 1; }" + Launch), 2048);
  EXPECT_EQ(argument("int m = 0; while ((1 << m) < n) ++m;" + Launch), 10);
  EXPECT_EQ(argument("int m = 1; for (; m < n; m = m * 3) ;" + Launch), 2187);
  EXPECT_EQ(argument("int m = 1; do m += n; while (m < 500);" + Launch), 1001);
  // What does not end, or does more, is not followed.
  EXPECT_EQ(argument("int m = 1; while (m < n) m *= 1;" + Launch), 1);
  EXPECT_EQ(argument("int a = 0, m = 0; while (a * a < 1 << 26) ++a; while (m < a) ++m;" + Launch), 0); // a takes long, again and again
  EXPECT_EQ(argument("int m = 8; while (m < n) { if (atoi(argv[1])) m *= 2; }" + Launch), 8);
}

TEST(Launches, knowTheSizeOfAVector) {
  const std::string Launch = "k<<<1, 32>>>(d, (int)v.size());";
  EXPECT_EQ(argument("std::vector<int> v(n * 3);" + Launch), 3000);
  EXPECT_EQ(argument("std::vector<int> v; v.resize(n + 1);" + Launch), 1001);
  EXPECT_EQ(argument("std::vector<int> v; for (int y = 0; y + 1 < n; ++y) for (int x = 0; x < 4; ++x) { v.push_back(x); v.push_back(y); }" + Launch), 7992);
  EXPECT_EQ(argument("std::vector<int> v; while (atoi(argv[2])) { v.push_back(1); }" + Launch), std::nullopt);
  EXPECT_EQ(argument("std::vector<int> v(9); for (int i = 0; i < v.size(); ++i) { v.push_back(i); }" + Launch), std::nullopt);
  EXPECT_EQ(argument("std::vector<int> v; build(v);" + Launch), std::nullopt);
  EXPECT_EQ(argument("std::vector<int> v; while (v.size() < 3 * n) { v.push_back(1); v.push_back(2); }" + Launch), 3000);
  EXPECT_EQ(argument("std::vector<int> u, v; while ((int)u.size() < n || v.size() < 2) { for (int k = 0; k < 5; ++k) u.push_back(k); v.push_back(1); }" + Launch), 200);
  EXPECT_EQ(argument("std::vector<int> u, v; while (u.size() < n) { while (atoi(argv[2])) u.push_back(1); v.push_back(1); }" + Launch), std::nullopt);
  EXPECT_EQ(argument("std::vector<int> u, v; while (u.size() < v.size()) { u.push_back(1); v.push_back(1); }" + Launch), std::nullopt);
  EXPECT_EQ(argument("std::vector<int> u(7), v; for (int x : u) v.push_back(x);" + Launch), 7);
  EXPECT_EQ(argument("std::vector<int> v; auto add = [&] { v.push_back(1); }; for (int i = 0; i < n; ++i) add();" + Launch), 1000);
  EXPECT_EQ(argument("std::vector<int> v; for (int i = 0; i < n; ++i) { auto add = [&](int k) { v.push_back(k); }; add(i); for (int k = 0; k < 3; ++k) add(k); }" + Launch), 4000);
  EXPECT_EQ(argument("std::vector<int> v; auto add = [&] { v.push_back(1); }; while (atoi(argv[2])) add();" + Launch), std::nullopt);
  EXPECT_EQ(argument("int first; std::vector<int> v; for (int i = 0; i < n; ++i) { for (int k = 0; k < 6; ++k) v.push_back(k); if (i == 0) first = v.size(); }"
                     "k<<<1, 32>>>(d, first);"), 6);
}

TEST(Launches, countTheTripsOverARange) {
  const std::string Launch = "k<<<1, 32>>>(d, (int)v.size());", Rows = "std::vector<int> v; for (int i = 0; i < n; ++i) ";
  EXPECT_EQ(argument("int faces[6][2] = {}; " + Rows + "for (auto &f : faces) v.push_back(f[0]);" + Launch), 6000);
  EXPECT_EQ(argument("std::array<int, 5> five{}; " + Rows + "for (int k : five) v.push_back(k);" + Launch), 5000);
  EXPECT_EQ(argument(Rows + "for (int k : {1, 2, 3}) v.push_back(k);" + Launch), 3000);
  // Each of the vectors in a vector has its share of what they get.
  const std::string Near = "std::vector<std::vector<int>> near(n); for (int e = 0; e < 4 * n; ++e) { near[e % n].push_back(e); std::vector<int> &to = near[e * 7 % n]; to.push_back(e); } ";
  EXPECT_EQ(argument(Near + Rows + "for (int k : near[i]) v.push_back(k);" + Launch), 8000);
  EXPECT_EQ(argument(Near + "k<<<1, 32>>>(d, (int)near[3].size());"), 8);
  EXPECT_EQ(argument("std::vector<std::vector<int>> near; while (atoi(argv[2])) near[0].push_back(1); " + Rows + "for (int k : near[i]) v.push_back(k);" + Launch), std::nullopt);
}

TEST(Launches, countLoopsWhoseBoundsFollowFromThoseAround) {
  const std::string Min = "namespace std { template <class T> const T &min(const T &a, const T &b) { return a < b ? a : b; } }\n";
  // Tiles of a square: the last ones of each row and column are cut off.
  const std::optional<int64_t> Tiled = argument("std::vector<int> v; for (int a = 0; a < 100; a += 16) for (int b = 0; b < 100; b += 16) for (int y = a; y < std::min(a + 16, 100); ++y)"
                                                " for (int x = b; x < std::min(b + 16, 100); ++x) v.push_back(x); k<<<1, 32>>>(d, (int)v.size());", Min);
  ASSERT_TRUE(Tiled);
  EXPECT_NEAR(double(*Tiled), 10000, 1500);
}

TEST(Launches, countLoopsThatAdvanceInTheirBody) {
  const std::string Launch = "k<<<1, 32>>>(d, (int)v.size());";
  EXPECT_EQ(argument("std::vector<int> v; for (int first = 0; first < n;) { int count = 5 + atoi(argv[2]) % 10; v.push_back(first); first += count; }" + Launch), 100);
  EXPECT_EQ(argument("std::vector<int> v; int left = n; while (0 < left) { v.push_back(left); left -= 2; }" + Launch), 500);
  // Under a condition, in an inner loop, in its increment, or twice.
  EXPECT_EQ(argument("std::vector<int> v; int at = 0; while (at < n) { v.push_back(at); if (atoi(argv[2]) % 4 == 0) at += 2; }" + Launch), 2000);
  EXPECT_EQ(argument("std::vector<int> v; int at = 0; while (at < n) { v.push_back(at); for (int k = 0; k < 4; ++k) at += 2; }" + Launch), 125);
  EXPECT_EQ(argument("std::vector<int> v; int at = 0; while (at < n) { int some = 2 + atoi(argv[2]) % 7; v.push_back(at); for (int k = 0; k < some; k++, at++); }" + Launch), 200);
  EXPECT_EQ(argument("std::vector<int> v; int at = 0; while (at < n) { v.push_back(at); at += 2; at += 3; }" + Launch), 200);
  EXPECT_EQ(argument("std::vector<int> v; int at = 0; while (at < n) { v.push_back(at); while (atoi(argv[2])) at += 2; }" + Launch), std::nullopt);
  EXPECT_EQ(argument("std::vector<int> v; int at = 0; while (at < n) { v.push_back(at); at *= 2; }" + Launch), std::nullopt);
}

TEST(Launches, endWhereStepsGrow) {
  const std::string Launch = "k<<<1, 32>>>(d, (int)v.size());";
  for (const char *Loop : {"while (a < n) { v.push_back(a); b += 2; a += b; }", "for (int i = 0, s = 1; i < n; i += s) { s += 2; v.push_back(i); }",
                           "int s = 1, t = 2; for (int i = 0; i < n; i += s) { t += s; s += t; v.push_back(i); }", "for (int i = 0; i < n;) { int s = b; i += s; b += s; v.push_back(i); }",
                           "while (a < n) { v.push_back(a); if (b % 3) b += 2; for (int q = 0; q < b; q++) { a += b; } }",
                           "for (int i = 0; i < a; i++, a++) { for (int j = 0; j < (int)v.size(); j++, b++) { v.push_back(b); for (int k = 0; k < b; k++, a++) v.push_back(a); } }"})
    argument("std::vector<int> v; int a = 0, b = 0; " + std::string(Loop) + Launch); // whatever it is
}

TEST(Launches, knowArraysInObjects) {
  const std::string Grid = "struct Grid { int side, pitch[2]; float scale[2]; };\n";
  EXPECT_EQ(argument("Grid g; g.side = 64; g.pitch[0] = g.side + 1; g.pitch[1] = g.pitch[0] * 3; k<<<1, 32>>>(d, g.pitch[1] * 2);", Grid), 390);
  EXPECT_EQ(argument("Grid g = {64, {5, 7}, {0.5f, 4}}; k<<<1, 32>>>(d, (int)(g.scale[1] * g.pitch[0]));", Grid), 20);
  EXPECT_EQ(argument("Grid g; for (int i = 0; i < 2; ++i) g.pitch[i] = atoi(argv[i]); k<<<1, 32>>>(d, g.pitch[1]);", Grid), std::nullopt);
}

TEST(Launches, takeTheMeanOfAListThatALoopGoesThrough) {
  const std::string Loop = "for (int pass = 0; pass < 3; ++pass) ";
  EXPECT_EQ(argument("const int radius[3] = {1, 2, 9}; " + Loop + "k<<<1, 32>>>(d, radius[pass]);"), 4) << "the mean";
  EXPECT_EQ(argument("int radius[] = {1, 2, 9}; for (int r : radius) k<<<1, 32>>>(d, radius[atoi(argv[1])] + 1);"), 5) << "nobody says which";
  EXPECT_EQ(argument("const int radius[3] = {1, 2, 9}; int at = 2; k<<<1, 32>>>(d, radius[at]);"), 9);
  EXPECT_EQ(argument("int radius[3]; for (int i = 0; i < 3; ++i) radius[i] = atoi(argv[i]); " + Loop + "k<<<1, 32>>>(d, radius[pass]);"), std::nullopt);
}

TEST(Launches, followWhatAConstructorIsGivenByMakeUnique) {
  const std::string Make = "namespace std { template <class T> struct unique_ptr { T *p; T *operator->() const { return p; } };\n"
                           "template <class T, class... A> unique_ptr<T> make_unique(A &&...a) { return {new T(static_cast<A &&>(a)...)}; } }\n";
  const std::string Class = "struct Body { int n; Body(int m, float) : n(m) {} };\n";
  EXPECT_EQ(argument("auto b = std::make_unique<Body>(70, 1.0f); k<<<1, 32>>>(d, b->n);", Make + Class), 70);
  EXPECT_EQ(argument("auto b = std::make_unique<Body>(70, 1.0f), c = std::make_unique<Body>(90, 1.0f); k<<<1, 32>>>(d, b->n);", Make + Class), std::nullopt);
}

TEST(Launches, keepTheMembersOfInstantiationsApart) {
  const std::string Buffer = "template <class T> struct Buffer { int n; Buffer(int m) : n(m) {} int count() const { return n; } };\n";
  EXPECT_EQ(argument("Buffer<int> a(70), *p = &a; Buffer<float> b(90); k<<<1, 32>>>(d, p[0].n);", Buffer), 70);
  EXPECT_EQ(argument("Buffer<int> a(70), b(90), *p = &a; k<<<1, 32>>>(d, p[0].n);", Buffer), std::nullopt);
}

TEST(Launches, lookAtEachVariableOnceInEachTrip) {
  std::string Chain = "int v0 = n;"; // twice as much to look at with each, and deeper than is followed
  for (int I = 1; I < 60; ++I)
    Chain += "int v" + std::to_string(I) + " = v" + std::to_string(I - 1) + " + v" + std::to_string(I - 1) + " % 3;";
  const std::string Loops = "for (int i = 0; i < 10; ++i) for (int j = 0; j < ";
  EXPECT_EQ(argument(Chain + Loops + "v59; ++j) k<<<1, 32>>>(d, 4);"), 4);
  EXPECT_EQ(argument(Chain + Loops + "i + v5 % 7; ++j) k<<<1, 32>>>(d, v5);"), 1007);
}

// Each counter follows from two others, in loops whose bounds do: all of it would take minutes.
TEST(Launches, lookAtSomeOfManyTrips) {
  std::string Chain = "int c0 = n, c1 = n;";
  for (int I = 2; I < 40; ++I) {
    const std::string Now = "c" + std::to_string(I), Last = "c" + std::to_string(I - 1), Before = "c" + std::to_string(I - 2);
    Chain += "int " + Now + " = 0; for (int a = 0; a < n; ++a) for (int b = 0; b < " + Last + " % 7 + " + Before + " % 5; ++b) { if (" + Last + " > b) " + Now + " += " + Before + " + " + Last + "; }";
  }
  EXPECT_TRUE(argument(Chain + "k<<<1, 32>>>(d, c4);"));
  argument(Chain + "k<<<1, 32>>>(d, c39);");
}

TEST(Launches, knowTheSizeOfAVectorThatATriangleFills) {
  const std::string Launch = "k<<<1, 32>>>(d, (int)v.size());";
  EXPECT_EQ(argument("std::vector<int> v; for (int y = 0; y < 80; ++y) for (int x = 0; x < y; ++x) v.push_back(x);" + Launch), 3200); // 3160
  EXPECT_EQ(argument("std::vector<int> v; for (int y = 0; y < 80; ++y) { int room = 10 + y % 2 * 0; for (int x = 0; x < room; ++x) v.push_back(x); }" + Launch), 800);
}

TEST(Launches, knowTheSizeOfAVectorThatAFunctionFills) {
  const std::string Launch = "k<<<1, 32>>>(d, v.size());";
  EXPECT_EQ(argument("std::vector<int> v; build(v, n);" + Launch,
                     "void build(std::vector<int> &u, int many) { while ((int)u.size() < many) { u.push_back(1); } }\n"), 1000);
  EXPECT_EQ(argument("std::vector<int> v; all(v);" + Launch,
                     "void one(std::vector<int> &w) { w.resize(20); }\nvoid all(std::vector<int> &u) { one(u); }\n"), 20);
  EXPECT_EQ(argument("std::vector<int> v; for (int i = 0; i < 5; ++i) { two(v); }" + Launch,
                     "void two(std::vector<int> &u) { u.push_back(1); u.push_back(2); }\n"), 10);
  EXPECT_EQ(argument("std::vector<int> v; for (int i = 0; i < n; ++i) { if (atoi(argv[2]) % 4) continue; v.push_back(1); }" + Launch), 250);
  EXPECT_EQ(argument("std::vector<int> v; int w = 10; for (int y = 0; y < n / w; ++y) for (int x = 0; x < w; ++x) for (int k = 0; k < 4; ++k) "
                     "{ int X = x + atoi(argv[2]), Y = y + k % 2; if (X < 0 || X >= w || Y >= n / w) continue; v.push_back(1); }" + Launch), 4000) << "at a border alone";
  EXPECT_EQ(argument("std::vector<int> v; v.reserve(7 * n); while (atoi(argv[2])) v.push_back(1);" + Launch), 7000);
}

TEST(Launches, knowTheSizeOfAVectorThatCallsFill) {
  const std::string List = "struct List { std::vector<int> all; void add(int k) { if (k < 0) return; all.push_back(k); } };\n";
  const std::string Two = "struct Two : List { void two(int k) { add(k); add(k + 1); } };\n";
  const std::string Launch = " k<<<1, 32>>>(d, (int)l.all.size());";
  EXPECT_EQ(argument("List l; for (int i = 0; i < n; ++i) l.add(i);" + Launch, List), 1000);
  EXPECT_EQ(argument("Two l; for (int i = 0; i < n; ++i) l.two(i);" + Launch, List + Two), 2000);
  EXPECT_EQ(argument("List l, other; for (int i = 0; i < n; ++i) { l.add(i); other.add(i); }" + Launch, List), 1000) << "of one object";
  EXPECT_EQ(argument("List l; for (int i = 0; i < n; ++i) l.add(i); for (int s = 0; s < 9; ++s) { l.all.clear(); l.add(s); }" + Launch, List), 1);
  EXPECT_EQ(argument("for (int i = 0; i < n; ++i) add(i); k<<<1, 32>>>(d, (int)all.size());", "std::vector<int> all; void add(int k) { all.push_back(k); }\n"), 1000);
}

// Nine functions that each call the one before twenty times: asked for call by call it would take hours.
TEST(Launches, knowTheSizeOfAVectorThatManyCallsFill) {
  std::string Functions = "std::vector<int> points; void f0() { points.push_back(1); }\n";
  for (int I = 1; I < 9; ++I) {
    Functions += "void f" + std::to_string(I) + "() { ";
    for (int Call = 0; Call < 20; ++Call)
      Functions += "f" + std::to_string(I - 1) + "(); ";
    Functions += "}\n";
  }
  EXPECT_EQ(argument("f3(); k<<<1, 32>>>(d, (int)points.size());", Functions.substr(0, Functions.find("void f4"))), 8000);
  argument("f8(); k<<<1, 32>>>(d, (int)points.size());", Functions);
  const std::string Circle = "std::vector<int> points; void odd(int); void even(int k) { points.push_back(k); if (k) odd(k - 1); } void odd(int k) { if (k) even(k - 1); }\n";
  EXPECT_EQ(argument("even(9); k<<<1, 32>>>(d, (int)points.size());", Circle), std::nullopt);
}

TEST(Launches, knowTheSizeOfAVectorThatADividedRangeFills) {
  auto grown = [&](const std::string &Body) {
    return argument("std::vector<int> v; tree(v, 0, 1024); k<<<1, 32>>>(d, v.size());", "void tree(std::vector<int> &u, int from, int to) { u.push_back(from); " + Body + " }\n");
  };
  EXPECT_EQ(grown("if (to - from == 1) return; int middle = (from + to) / 2; tree(u, from, middle); tree(u, middle, to);"), 2047);
  EXPECT_EQ(grown("if (to - from > 4) { tree(u, from, (from + to) / 2); tree(u, (from + to) / 2, to); }"), 511);
  EXPECT_EQ(grown("if (to > from) { tree(u, from, to); tree(u, from, to); }"), std::nullopt); // without an end
}

TEST(Launches, knowTheSizeOfAVectorThatARecursionFills) {
  const std::string Launch = "k<<<1, 32>>>(d, v.size());";
  auto grown = [&](const std::string &Body, const std::string &Call = "tree(v, 9, 1);") {
    return argument("std::vector<int> v; " + Call + Launch, "int draw(); void tree(std::vector<int> &u, int deep, int more) { u.push_back(deep); " + Body + " }\n");
  };
  EXPECT_EQ(grown("if (deep) tree(u, deep - 1, more);"), 10);
  EXPECT_EQ(grown("if (deep > 0) { tree(u, deep - 1, 0); tree(u, deep - 1, 1); }"), 1023);
  EXPECT_EQ(grown("if (deep == 0) { return; } tree(u, deep - 1, more); tree(u, deep - 1, more);"), 1023);
  EXPECT_EQ(grown("if (deep < more) { tree(u, deep + 1, more); tree(u, deep + 1, more); }", "for (int t = 0; t < 10; ++t) tree(v, 0, 4);"), 310);
  // Of a half, after two levels.
  EXPECT_EQ(grown("if (deep < 2 || (deep < 6 && draw() % 4 < 2)) { tree(u, deep + 1, more); tree(u, deep + 1, more); }", "tree(v, 0, 0);"), 23);
  EXPECT_EQ(grown("if (deep < 4 && draw() % 4 != 0) tree(u, deep + 1, more), tree(u, deep + 1, more);", "tree(v, 0, 0);"), 13);
  EXPECT_EQ(grown("if (draw()) { tree(u, deep / 2, more); tree(u, deep / 2, more); }"), std::nullopt);
  EXPECT_EQ(grown("if (deep) for (int i = 0; i < 3; ++i) tree(u, deep - 1, more);"), std::nullopt);
  EXPECT_EQ(grown("tree(u, deep - 1, more);"), std::nullopt); // without an end
}

TEST(Launches, addUpWhatLoopsAddUp) {
  const std::string Hash = "static unsigned mixed(unsigned k) { k ^= k >> 16; k *= 0x7feb352du; return k ^ k >> 15; }\n",
                    Loop = "for (int i = 0; i < n; ++i) ", Launch = "k<<<1, 32>>>(d, total);", Last = "k<<<1, 32>>>(d, first[n]);";
  EXPECT_EQ(argument("int total = 5; " + Loop + "{ Q q; total += 2 + mixed(i) % 9; }" + Launch, Hash), 6005);
  EXPECT_EQ(argument("int total = 0; " + Loop + "{ const unsigned h = mixed(i); total += (h >> 8) % 5; }" + Launch, Hash), 2000);
  EXPECT_EQ(argument("int *first = new int[n + 1]; first[0] = 0; " + Loop + "first[i + 1] = first[i] + 2 + (int)(mixed(i) % 9);" + Last, Hash), 6000);
  EXPECT_EQ(argument("int total = 5; " + Loop + "if (mixed(i) % 9) total += 2;" + Launch, Hash), 1783); // in eight of nine trips
  EXPECT_EQ(argument("int total = 0; " + Loop + "{ for (int k = 0; k < 3; ++k) ++total; if (mixed(i) % 2) total++; }" + Launch, Hash), 3500);
  // In steps, by turns, or no sum.
  EXPECT_EQ(argument("int total = 5; for (int s = 0; s < 9; ++s) { " + Launch + " total += 2; }"), 5);
  EXPECT_EQ(argument("int *first = new int[n + 1]; " + Loop + "first[i + 1] = 2 * i;" + Last), std::nullopt);
  EXPECT_EQ(argument("int *first = new int[n + 1]; " + Loop + "first[i + 1] = first[i] + 2; k<<<1, 32>>>(d, first[n / 2]);"), std::nullopt);
}

TEST(Launches, knowWhatIsCountedPlaceByPlace) {
  const std::string Edges = "std::vector<int> from(6 * n), row(n + 1), count(n); for (int e = 0; e < 6 * n; ++e) from[e] = e * 7919 % n; ", Each = "for (int e = 0; e < 6 * n; ++e) ",
                    Scan = "for (int i = 0; i < n; ++i) ";
  EXPECT_EQ(argument(Edges + Each + "row[from[e] + 1]++; " + Scan + "row[i + 1] += row[i]; k<<<1, 32>>>(d, row[n]);"), 6000);
  EXPECT_EQ(argument(Edges + Each + "++count[from[e]]; " + Scan + "row[i + 1] = row[i] + count[i]; k<<<1, 32>>>(d, row[n]);"), 6000);
  EXPECT_EQ(argument(Edges + Each + "count[from[e]] += 2; int at = 0; " + Scan + "{ row[i] = at; at += count[i]; } k<<<1, 32>>>(d, at);"), 12000);
  EXPECT_EQ(argument(Edges + "int m = 0; for (int e = 0; e < 6 * n; ++e) if (e % 3 == 1) from[m++] = e; k<<<1, 32>>>(d, m);"), 2000);
  EXPECT_EQ(argument(Edges + "std::vector<Cell> v(n); " + Each + "v[from[e]].count++; int at = 0; for (Cell &c : v) { c.first = at; at += c.count; } k<<<1, 32>>>(d, at);", "struct Cell { int first, count; };\n"), 6000);
  // Cursors that go back, and what is counted in steps.
  EXPECT_EQ(argument(Edges + Each + "{ count[from[e]]++; count[e % n]--; } k<<<1, 32>>>(d, count[3]);"), std::nullopt);
}

TEST(Launches, knowTheSizeOfAVectorThatIsDeclaredInALoop) {
  EXPECT_EQ(argument("std::vector<int> v; for (int i = 0; i < n; ++i) { int many = 4; if (rand() % 8 == 0) many += 16; for (int k = 0; k < many; ++k) v.push_back(k); } k<<<1, 32>>>(d, v.size());",
                     "int rand();\n"), 6000);
  EXPECT_EQ(argument("std::vector<int> v; for (int i = 0; i < n; ++i) if (rand() % 4 == 0) v.push_back(i); k<<<1, 32>>>(d, v.size());", "int rand();\n"), 250);
  EXPECT_EQ(argument("int m = 0; for (int i = 0; i < n; ++i) { std::vector<int> here; for (int j = 0; j < 5; ++j) here.push_back(j); m += here.size(); } k<<<1, 32>>>(d, m);"), 5000);
}

TEST(Launches, doNotTakeOneElementForAnother) {
  const std::string Runs = "struct Run { int count; };\n", Launch = "k<<<1, 32>>>(d, r[n % 3].count);";
  EXPECT_EQ(argument("Run r[3]; for (int i = 0; i < 3; ++i) { r[i].count = atoi(argv[1]); if (i == 2) r[i].count = 9; }" + Launch, Runs), std::nullopt);
  EXPECT_EQ(argument("Run r[3]; for (int i = 0; i < 3; ++i) r[i].count = 9;" + Launch, Runs), 9);
}

TEST(Launches, shareOutTheElementsLevelByLevel) {
  auto parts = [](const std::string &Main) {
    const Program P = find("int main(int argc, char **argv) { Q *d; cudaMalloc((void **)&d, 4096 * sizeof(Q)); const int *first = 0; " + Main + " }");
    return P.Launches.at(0).Parts;
  };
  EXPECT_EQ(parts("for (int l = 0; l < 7; ++l) { const int count = first[l + 1] - first[l]; k<<<(count + 127) / 128, 128>>>(d, count); }"), 7);
  EXPECT_EQ(parts("for (int l = argc; l >= 0; --l) k<<<dim3(first[l], 4), 128>>>(d, l);"), 16);
  EXPECT_EQ(parts("for (int l = 0; l < 7; ++l) { const int width = first[l + 1] - first[l]; k<<<dim3(4, width), 128>>>(d, width); }"), 7) << "in another dimension";
  EXPECT_EQ(parts("for (int l = 0; l < 7; ++l) k<<<first[0], 128>>>(d, l);"), 1);
  EXPECT_EQ(parts("for (int l = 0; l < 7; ++l) k<<<32 + l, 128>>>(d, first[l]);"), 1);
}

TEST(Launches, takeWhatIsDrawnAtItsMean) {
  const std::string Draw = "static unsigned seed = 1; static unsigned draw() { seed = seed * 1664525u + 1013904223u; return seed >> 8; }\n"
                           "static float uniform() { return draw() / 16777216.0f; }\nstatic float drawn() { seed = seed * 5 + 1; return seed / 4e9f; }\n"
                           "static int twice(int k) { k = k * 2; return k; }\n";
  EXPECT_EQ(argument("k<<<1, 32>>>(d, 3 + (int)(4.0f * drawn()));", Draw), 5);
  EXPECT_EQ(argument("k<<<1, 32>>>(d, 3 + (int)(4.0f * uniform()));", Draw), 5) << "by another";
  EXPECT_EQ(argument("k<<<1, 32>>>(d, 100 + draw() % 40);", Draw), 120);
  EXPECT_EQ(argument("k<<<1, 32>>>(d, draw());", Draw), std::nullopt);
  EXPECT_EQ(argument("pass(d, 0); for (int i = 1; i <= 21; ++i) pass(d, i);",
                     "static void pass(Q *d, int i) { k<<<1, 32>>>(d, 6 * (i % 4)); }\n"), 12) << "of several calls";
  EXPECT_EQ(argument("k<<<1, 32>>>(d, twice(n));", Draw), std::nullopt) << "not what it was given";
}

TEST(Launches, knowWhatMembersAndLambdasReturn) {
  const std::string Book = "struct Book { int each; int all() const { return 3 * each; } int two() const { const int x = all(); return x + each; } };\n";
  EXPECT_EQ(argument("Book b; b.each = n; k<<<1, 32>>>(d, b.all());", Book), 3000);
  EXPECT_EQ(argument("Book b{7}; Book c{5}; const Book *p = &c; k<<<1, 32>>>(d, b.two() + p->two());", Book), 48);
  EXPECT_EQ(argument("const int size = 128; auto blocks = [=](long long m) { return (unsigned)((m + size - 1) / size); };"
                     "k<<<1, 32>>>(d, blocks(2 * n));"), 16);
  EXPECT_EQ(argument("k<<<1, 32>>>(d, lround(n * 1.2987));", "long lround(double);\n"), 1299);
  EXPECT_EQ(argument("k<<<1, 32>>>(d, blocks(n));", "int blocks(int m) { const int size = 64; if (m < 1) return 1; return m / size; }\n"), 15);
  EXPECT_EQ(argument("struct V { virtual int many() { return 5; } } v; k<<<1, 32>>>(d, v.many());"), std::nullopt);
}

TEST(Launches, knowTheSizeOfAVectorThatSomethingElseMakes) {
  const std::string Launch = "k<<<1, 32>>>(d, v.size());";
  EXPECT_EQ(argument("const std::vector<int> v = {4, 5, 6};" + Launch), 3);
  EXPECT_EQ(argument("const std::vector<int> v{4, 5};" + Launch), 2);
  EXPECT_EQ(argument("std::vector<int> u(n), v = u;" + Launch), 1000);
  EXPECT_EQ(argument("std::vector<int> v = made(n / 2);" + Launch, "std::vector<int> made(int k) { std::vector<int> r(k + 1); return r; }\n"), 501);
  const std::string Step = "void step(Q *d, std::vector<int> &v) { k<<<1, 32>>>(d, v.size()); }\n";
  EXPECT_EQ(argument("std::vector<int> v(n); step(d, v); for (int i = 0; i < 9; ++i) step(d, v);", Step), 1000);
  EXPECT_EQ(argument("std::vector<int> u(3), v(n); step(d, u); step(d, v);", Step), std::nullopt) << "of different ones";
  // Members, of whatever object.
  const std::string Mesh = "struct Mesh { std::vector<int> cells, faces; };\n"
                           "Mesh mesh(int side) { Mesh m{std::vector<int>(side * side)}; for (int i = 0; i < side; ++i) m.faces.push_back(i); return m; }\n";
  EXPECT_EQ(argument("Mesh m = mesh(30); k<<<1, 32>>>(d, m.cells.size());", Mesh), 900);
  EXPECT_EQ(argument("Mesh m = mesh(30); k<<<1, 32>>>(d, m.faces.size());", Mesh), 30);
  const std::string Class = "struct Sim { Sim(int n) : host(n), n(n) {} std::vector<int> host; int n; };\n";
  EXPECT_EQ(argument("Sim s(n); k<<<1, 32>>>(d, s.host.size());", Class), 1000);
  EXPECT_EQ(argument("Mesh m; k<<<1, 32>>>(d, m.cells.size());", "struct Mesh { std::vector<int> cells; };\n"), std::nullopt);
}

TEST(Launches, knowWhatTheRuntimeSaysOfTheGpu) {
  const std::string Before = "enum cudaDeviceAttr { cudaDevAttrWarpSize = 10, cudaDevAttrMultiProcessorCount = 16 };\n"
                             "int cudaDeviceGetAttribute(int *, cudaDeviceAttr, int);\n"
                             "struct cudaDeviceProp { int multiProcessorCount, warpSize, other; }; int cudaGetDeviceProperties(cudaDeviceProp *, int);\n";
  EXPECT_EQ(argument("int sms = 0; cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0); k<<<1, 32>>>(d, sms * 8);", Before), 1056);
  EXPECT_EQ(argument("cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); k<<<1, 32>>>(d, p.multiProcessorCount * p.warpSize);", Before), 4224);
  EXPECT_EQ(argument("cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); k<<<1, 32>>>(d, p.other);", Before), std::nullopt);
}

TEST(Launches, countCallsOfTheFunctionAround) {
  auto calls = [](const std::string &Code) {
    Program P = find(Code);
    return P.Launches.empty() ? 0 : P.Launches[0].Calls;
  };
  EXPECT_EQ(calls("void step(Q *d) { for (int i = 0; i < 3; ++i) k<<<1, 32>>>(d, 1); }\n"
                  "int main() { Q *d; cudaMalloc((void **)&d, 64 * sizeof(Q)); step(d); for (int s = 0; s < 20; ++s) step(d); }"), 63);
  EXPECT_EQ(calls("int main() { Q *d; cudaMalloc((void **)&d, 64 * sizeof(Q)); auto step = [&] { k<<<1, 32>>>(d, 1); }; for (int s = 0; s < 20; ++s) step(); }"), 20);
  EXPECT_EQ(calls("struct S { Q *d; void step() { k<<<1, 32>>>(d, 1); } void run(int n) { if (n) run(n - 1); for (int s = 0; s < 5; ++s) step(); } };\n"
                  "int main() { S s; cudaMalloc((void **)&s.d, 64 * sizeof(Q)); s.run(1); }"), 7.5) << "a call of itself is one more, in half of the calls";
  const std::string Loop = "int main(int argc, char **) { Q *d; cudaMalloc((void **)&d, 64 * sizeof(Q)); bool other = false; for (int s = 0; s < 400; ++s) ";
  EXPECT_EQ(calls(Loop + "if (s % 10 == 0) k<<<1, 32>>>(d, 1); }"), 40);
  EXPECT_EQ(calls(Loop + "if (s & 1) k<<<1, 32>>>(d, 1); }"), 200);
  EXPECT_EQ(calls(Loop + "if ((s & 3) != 0) { } else k<<<1, 32>>>(d, 1); }"), 100);
  EXPECT_EQ(calls(Loop + "{ if (s % 4) { argc = s; continue; } k<<<1, 32>>>(d, 1); } }"), 100);
  EXPECT_EQ(calls(Loop + "if (s > 0) k<<<1, 32>>>(d, 1); }"), 392) << "mostly so";
  EXPECT_EQ(calls(Loop + "if (other) k<<<1, 32>>>(d, 1); }"), 8) << "seldom, as it may be asked for";
  EXPECT_EQ(calls("void step(Q *d) { k<<<1, 32>>>(d, 1); }\n" + Loop + "if (s % 20 == 0) step(d); }"), 20);
}

TEST(Launches, knowHowMuchLiesBehindPointers) {
  Program P = programOf(R"(struct Q { float x, y; int bin; };
    __global__ void k(Q *p, int *bins, float *scale, int *other, int n) { bins[p[0].bin] += int(scale[0] + other[n]); }
    int main(int argc, char **argv) {
      int n = argc > 1 ? atoi(argv[1]) : 1 << 20, count = 64;
      Q *d;
      int *bins, *other;
      float *scale;
      cudaMalloc((void **)&d, n * sizeof(Q));
      cudaMalloc((void **)&bins, count * sizeof(int));
      cudaMalloc((void **)&scale, 8);
      cudaMalloc((void **)&other, 4 * n);
      cudaMalloc((void **)&other, 8 * n);
      k<<<n / 256, 256>>>(d, bins, scale, other, n);
    })");
  ASSERT_EQ(P.Launches.size(), 1u);
  const std::vector<Extent> &E = P.Launches[0].Extents;
  ASSERT_EQ(E.size(), 3u) << "'other' may be one or the other";
  EXPECT_EQ(E[0].Bytes, 12u << 20);
  EXPECT_EQ(E[0].ElementBytes, 12u);
  EXPECT_EQ(E[1].Bytes, 256u);
  EXPECT_EQ(E[1].ElementBytes, 4u);
  EXPECT_EQ(E[2].Bytes, 8u);
}

/// Bytes behind the parameters of the one kernel that is launched; zeros where they are not known.
static std::vector<uint64_t> bytesBehind(const std::string &Code) {
  const Program P = programOf("namespace std { template <class T> struct vector { vector(size_t); size_t size() const; }; }\nstruct Q { float x, y; int bin; };\n__global__ void k(const Q *p, const int *bins, int n) {}\n" + Code);
  std::vector<uint64_t> Out;
  for (const Launch &L : P.Launches)
    for (const Extent &E : L.Extents)
      Out.push_back(E.Bytes);
  return Out;
}

TEST(Launches, sayHowLargeArraysAreThatOneConstructorAllocates) {
  const Program P = programOf(R"(namespace std { template <class T> struct vector { vector(size_t); size_t size() const; }; }
    struct Q { float x, y; int bin; };
    __global__ void k(const Q *p, Q *q, int n) { q[n] = p[n]; }
    template <class T> class Buffer {
    public:
      explicit Buffer(size_t n) { cudaMalloc((void **)&p, n * sizeof(T)); }
      explicit Buffer(const std::vector<T> &v) : Buffer(v.size()) {}
      T *get() { return p; }
    private:
      T *p = nullptr;
    };
    int main() {
      std::vector<Q> h(5000);
      Buffer<Q> all(h), row(300);
      k<<<8, 256>>>(all.get(), row.get(), 300);
    })");
  ASSERT_EQ(P.Candidates.size(), 1u);
  EXPECT_EQ(P.Candidates[0].Elements.Count, 5000);
}

TEST(Launches, knowHowMuchFunctionsAllocateForTheirCallers) {
  const std::vector<uint64_t> Both{12 * 1000, 4 * 77};
  EXPECT_EQ(bytesBehind(R"(template <class T> T *upload(const std::vector<T> &v) {
      T *d = nullptr;
      cudaMalloc((void **)&d, v.size() * sizeof(T));
      return d;
    }
    int main() {
      std::vector<Q> h(1000);
      std::vector<int> bins(77), other(99);
      Q *d = upload(h);
      int *d_bins, *d_other = upload(other);
      d_bins = upload(bins);
      k<<<4, 256>>>(d, d_bins, 1000);
    })"), Both);
  EXPECT_EQ(bytesBehind(R"(template <class T> void make(T **d, int n) { cudaMalloc((void **)d, n * sizeof(T)); }
    struct Sim { Q *d; int *bins; };
    int main() {
      Sim s;
      int *other;
      make(&s.d, 1000), make(&s.bins, 77), make(&other, 99);
      k<<<4, 256>>>(s.d, s.bins, 1000);
    })"), Both);
  EXPECT_EQ(bytesBehind(R"(void *bytes(int n) { void *d; cudaMalloc(&d, n); return d; }
    template <class T> T *make(int n) { return static_cast<T *>(bytes(n * sizeof(T))); }
    struct Sim { Q *d; int *bins; };
    int main() {
      int *other = make<int>(99);
      Sim s = {make<Q>(1000), make<int>(77)};
      k<<<4, 256>>>(s.d, s.bins, 1000);
    })"), Both);
}

TEST(Launches, knowHowMuchObjectsAllocateForThemselves) {
  const std::vector<uint64_t> Both{12 * 1000, 4 * 77};
  const std::string Buffer = R"(template <class T> class Buffer {
      T *ptr_ = nullptr;
      size_t count_;
      void allocate() { cudaMalloc((void **)&ptr_, count_ * sizeof(T)); }
    public:
      explicit Buffer(size_t n) : count_(n) { allocate(); }
      explicit Buffer(const std::vector<T> &v) : Buffer(v.size()) {}
      Buffer(const Buffer &) = delete;
      T *device() const { return ptr_; }
      operator T *() const { return ptr_; }
    };
    )";
  EXPECT_EQ(bytesBehind(Buffer + R"(int main() {
      std::vector<Q> h(1000);
      Buffer<Q> d(h);
      Buffer<int> bins(77), other(99);
      k<<<4, 256>>>(d.device(), bins, 1000);
    })"), Both);
  EXPECT_EQ(bytesBehind(Buffer + R"(struct Sim {
      Buffer<Q> d;
      Buffer<int> bins{77}, other;
      explicit Sim(int n) : d(n), other(n) {}
      void step() { k<<<4, 256>>>(d.device(), bins.device(), 1000); }
    };
    int main() { Sim s(1000); s.step(); })"), Both);
  EXPECT_EQ(bytesBehind(R"(struct Buffer { int *ptr; void make(int n) { cudaMalloc((void **)&ptr, 4 * n); } };
    int main() {
      Buffer bins, other;
      bins.make(77), other.make(99);
      Q *d;
      cudaMalloc((void **)&d, 1000 * sizeof(Q));
      k<<<4, 256>>>(d, bins.ptr, 1000);
    })"), Both);
}

TEST(Launches, endWhereMethodsCallThemselves) {
  EXPECT_TRUE(bytesBehind(R"(struct List {
      Q *q;
      List *next;
      Q *last() { return next->last(); }
      Q *one() { return other(); }
      Q *other() { return one(); }
    };
    int main() { List l; k<<<4, 256>>>(l.last(), nullptr, 1); k<<<4, 256>>>(l.one(), nullptr, 1); })").empty());
}

TEST(Launches, knowRealsThatNeverChange) {
  Program P = programOf(R"(
    struct Q { float x, y; };
    __global__ void k(Q *p, float fixed, double half, float step, float read) { p[0].x = fixed + half + step + read; }
    int main(int argc, char **argv) {
      const float fixed = 3 * 0.25f;
      float step = 1;
      Q *d;
      cudaMalloc((void **)&d, 64 * sizeof(Q));
      for (int s = 0; s < 10; ++s) {
        k<<<1, 64>>>(d, fixed, fixed / 2, step, atoi(argv[1]));
        step *= 2;
      }
    })");
  ASSERT_EQ(P.Launches.size(), 1u);
  EXPECT_EQ(P.Launches[0].Reals, (std::vector<std::optional<double>>{std::nullopt, 0.75, 0.375, std::nullopt, std::nullopt}));
}

/// The bytes of \p O at \p Offset as a number; none: some of them are not known.
template <typename T> static std::optional<T> wordOf(const KnownObject &O, size_t Offset) {
  T Out = {};
  for (size_t I = 0; I < sizeof(T); ++I) {
    if (Offset + I >= O.Bytes.size() || !O.Bytes[Offset + I])
      return std::nullopt;
    reinterpret_cast<uint8_t *>(&Out)[I] = *O.Bytes[Offset + I];
  }
  return Out;
}

static const char Grid[] = R"(
  struct Cells { int nx, ny; };
  struct Grid { Cells cells; float h, t; int count, weights[3]; };
  struct Q { float x, y; };
  __global__ void k(Q *p, Grid g) { p[g.cells.nx].x = g.h; }
)";

TEST(Launches, takeRealsThatFollowFromDefaults) {
  Program P = programOf(R"(
    struct Q { float x, y; };
    struct View { float half, angle, zoom; };
    __global__ void k(Q *p, float half, float given, float time, View view) { p[0].x = half + given + time + view.angle; }
    void draw(Q *d, float time, View view, float half, int n) { k<<<1, 64>>>(d, half, n * 0.5f, time, view); }
    int main(int argc, char **argv) {
      int side = argc > 1 ? atoi(argv[1]) : 100, n = 64;
      if (argc > 2)
        n = atoi(argv[2]);
      Q *d;
      cudaMalloc((void **)&d, 64 * sizeof(Q));
      for (int s = 0; s < 10; ++s) { // in the middle of its trips
        float half = side * 0.5f, angle = 0.5f * s, zoom = atoi(argv[3]);
        View view = {half, angle, zoom};
        draw(d, s * 2.0f, view, half, n);
      }
    })");
  ASSERT_EQ(P.Launches.size(), 1u);
  EXPECT_EQ(P.Launches[0].Reals, (std::vector<std::optional<double>>{std::nullopt, 50, 32, 10, std::nullopt}));
  const KnownObject &View = P.Launches[0].Objects.at(4);
  EXPECT_EQ(wordOf<float>(View, 0), 50);
  EXPECT_EQ(wordOf<float>(View, 4), 2.5f);
  EXPECT_EQ(wordOf<float>(View, 8), std::nullopt) << "the user says";
}

TEST(Launches, knowStructsThatAreAssigned) {
  Program P = programOf(std::string(Grid) + R"(
    int main(int argc, char **argv) {
      int n = argc > 1 ? atoi(argv[1]) : 64;
      Grid g = {};
      g.cells.nx = n;
      g.cells = {n, 32};
      g.h = 1.0f / 32;
      g.count = atoi(argv[2]);
      Q *d;
      cudaMalloc((void **)&d, 64 * sizeof(Q));
      for (int s = 0; s < 10; ++s) {
        k<<<1, 64>>>(d, g);
        g.t += 0.5f;
      }
    })");
  ASSERT_EQ(P.Launches.size(), 1u);
  ASSERT_EQ(P.Launches[0].Objects.size(), 2u);
  const KnownObject &O = P.Launches[0].Objects[1];
  EXPECT_EQ(wordOf<int>(O, 0), 64);
  EXPECT_EQ(wordOf<int>(O, 4), 32);
  EXPECT_EQ(wordOf<float>(O, 8), 1.0f / 32);
  EXPECT_EQ(wordOf<float>(O, 12), std::nullopt) << "it changes";
  EXPECT_EQ(wordOf<int>(O, 16), std::nullopt);
  EXPECT_EQ(wordOf<int>(O, 20), 0);
  EXPECT_EQ(P.Launches[0].Notes, (std::vector<std::string>{"argument 'g.cells.nx' is taken as 64", "argument 'g.count' is not known"}));
}

TEST(Launches, knowStructsByInitialiserConstructorAndFunction) {
  for (const char *Maker : {"Grid g = {{64, 32}, 0.5f, 0, 7, {1, 2, 3}};", "const Grid g = gridOf(64);", "Made m(64); const Grid &g = m.grid;"}) {
    SCOPED_TRACE(Maker);
    Program P = programOf(std::string(Grid) + R"(
      Grid gridOf(int side) {
        Grid g;
        g.cells = {side, side / 2};
        g.h = 0.5f;
        g.count = 7;
        g.weights[1] = 2;
        return g;
      }
      struct Made {
        Grid grid;
        Made(int side) : grid{{side, side / 2}, 0.5f} { grid.count = 7; grid.weights[1] = 2; }
      };
      int main() {
        )" + Maker + R"(
        Q *d;
        cudaMalloc((void **)&d, g.cells.nx * sizeof(Q));
        k<<<g.cells.ny, 64>>>(d, g);
      })");
    ASSERT_EQ(P.Launches.size(), 1u);
    ASSERT_EQ(P.Launches[0].Objects.size(), 2u);
    const KnownObject &O = P.Launches[0].Objects[1];
    EXPECT_EQ(wordOf<int>(O, 0), 64);
    EXPECT_EQ(wordOf<int>(O, 4), 32);
    EXPECT_EQ(wordOf<float>(O, 8), 0.5f);
    EXPECT_EQ(wordOf<int>(O, 16), 7);
    EXPECT_EQ(wordOf<int>(O, 24), 2);
    EXPECT_EQ(P.Launches[0].Grid[0], 32u);
    ASSERT_EQ(P.Candidates.size(), 1u);
    EXPECT_EQ(P.Candidates[0].Elements.Count, 64);
  }
}

TEST(Launches, knowMembersOfClasses) {
  Program P = find(R"(
    class Simulation {
      Q *d;
      int count, steps = 10;
      unsigned threads = 128;
    public:
      explicit Simulation(int n) : count(n) { cudaMalloc((void **)&d, count * sizeof(Q)); }
      void run() {
        for (int s = 0; s < steps; ++s)
          k<<<(count + threads - 1) / threads, threads>>>(d, count);
      }
    };
    int main() { Simulation(1 << 20).run(); })");
  ASSERT_EQ(P.Launches.size(), 1u);
  EXPECT_EQ(P.Launches[0].Grid[0], 8192u);
  EXPECT_EQ(P.Launches[0].Block[0], 128u);
  EXPECT_EQ(P.Launches[0].Calls, 10);
  EXPECT_EQ(P.Launches[0].Arguments[1], 1 << 20);
}

TEST(Launches, knowPartsOfMembersThatAreAssignedAsAWhole) {
  const std::string Solver = "struct Cells { int x, y; }; struct Params { int count; Cells cells; };\n"
                             "struct Solver { Params p; Solver(int n) { int side = n / 10; if (side < 4) side = 4; p.cells = Cells{side, side + 1}; }"
                             " void run(Q *d) { k<<<1, 32>>>(d, p.cells.x * p.cells.y); } };\n";
  EXPECT_EQ(argument("Solver s(n); s.run(d);", Solver), 10100);
}

TEST(Launches, knowMembersOfAStructThatBeginsWithZeros) {
  auto member = [](const std::string &Of) {
    return argument("Fleet f(n); f.run(d);",
                    "struct World { Q *q; int count, side, rows, columns, spare; };\n"
                    "struct Fleet { World w{}; explicit Fleet(int n) { w.count = n; w.side = 32;"
                    " while (w.side * w.side < 10 * n && w.side < 16000) w.side += 32;"
                    " w.rows = w.columns = 4; while (w.rows * w.rows < 2 * n) w.rows++; }\n"
                    " void run(Q *d) { k<<<1, 32>>>(d, " + Of + "); } };\n");
  };
  EXPECT_EQ(member("w.count"), 1000);
  EXPECT_EQ(member("w.side"), 128); // as the loop leaves it
  EXPECT_EQ(member("w.rows"), 45);
  EXPECT_EQ(member("w.columns"), 4);
  EXPECT_EQ(member("w.spare"), 0);
  const std::string Loaf = "struct Loaf { int nx, ny; float dt; };\n";
  EXPECT_EQ(argument("Loaf l; l.nx = 8; while ((long long)(l.nx + 4) * (l.nx + 4) * 3 / 4 <= n) l.nx += 4; l.ny = l.nx / 2; k<<<1, 32>>>(d, l.ny);", Loaf), 18);
  EXPECT_EQ(argument("Loaf l; l.nx = 8; while (l.nx < atoi(argv[2])) l.nx += 4; k<<<1, 32>>>(d, l.nx);", Loaf), 8) << "how far is not known";
}

TEST(Launches, knowMembersThatAreAssignedByAnotherName) {
  Program P = programOf(std::string(Grid) + R"(
    int main() {
      Grid g = {{8, 8}, 0.5f, 0, 0};
      Cells &c = g.cells;
      int &n = c.nx;
      g.count = 0;
      Grid &same = g;
      same.count = c.ny * 5;
      Q *d;
      cudaMalloc((void **)&d, 64 * sizeof(Q));
      k<<<1, 64>>>(d, g);
    })");
  ASSERT_EQ(P.Launches.size(), 1u);
  EXPECT_EQ(wordOf<int>(P.Launches[0].Objects.at(1), 16), 40);
  EXPECT_EQ(P.Launches[0].Notes, (std::vector<std::string>{"argument 'g.cells.nx' is taken as 8", "argument 'g.cells.ny' is taken as 8",
                                                          "argument 'g.count' is taken as 40"}));
}

TEST(Launches, doNotFollowMembersInCircles) {
  Program P = programOf(std::string(Grid) + R"(
    void read(Grid &g);
    int main() {
      Grid g, h;
      g.count = h.count + 1;
      h.count = g.count - 1;
      read(g);
      Q *d;
      cudaMalloc((void **)&d, 64 * sizeof(Q));
      k<<<1, 64>>>(d, g);
    })");
  ASSERT_EQ(P.Launches.size(), 1u);
  EXPECT_EQ(wordOf<int>(P.Launches[0].Objects.at(1), 16), std::nullopt);
}

TEST(Launches, knowConstantMemoryThatTheHostFills) {
  Program P = programOf(std::string(Grid) + R"(
    __constant__ Grid grid;
    __constant__ float taps[4];
    __constant__ int twice, part[2];
    namespace physics { __constant__ int steps; }
    int main(int argc, char **argv) {
      Grid host = {{64, 32}, 0.5f};
      const float h[4] = {1, 2, 4, 8};
      int n = 5, two[2] = {1, 2};
      cudaMemcpyToSymbol(grid, &host, sizeof(host));
      cudaMemcpyToSymbol(taps, h, sizeof(h));
      cudaMemcpyToSymbol(physics::steps, &n, sizeof(n));
      cudaMemcpyToSymbol(twice, &n, sizeof(n));
      cudaMemcpyToSymbol(twice, &two[1], sizeof(n));
      cudaMemcpyToSymbol(part, two, sizeof(int), sizeof(int));
      Q *d;
      cudaMalloc((void **)&d, 64 * sizeof(Q));
      k<<<1, 64>>>(d, host);
    })");
  ASSERT_EQ(P.Launches.size(), 1u);
  std::map<std::string, ConstantSymbol> S = P.Launches[0].Symbols;
  EXPECT_EQ(wordOf<int>(S["grid"].Object, 4), 32);
  EXPECT_EQ(wordOf<float>(S["taps"].Object, 12), 8.0f);
  EXPECT_EQ(wordOf<int>(S["_ZN7physics5stepsE"].Object, 0), 5);
  EXPECT_EQ(wordOf<int>(S["twice"].Object, 0), std::nullopt) << "it is 5 first and 2 then";
  EXPECT_TRUE(S["part"].Object.Bytes.empty());
}

TEST(Launches, keepWhatLiesBehindPointersFromTheEnd) {
  Program P = programOf(R"(
    struct Q { float x, y; };
    struct Sim { int n; Q *p; int m; };
    __global__ void k(Sim s) { s.p[s.n].x = s.m; }
    int main() {
      Sim s;
      s.n = 3, s.m = 4;
      cudaMalloc((void **)&s.p, 64 * sizeof(Q));
      k<<<1, 64>>>(s);
    })");
  ASSERT_EQ(P.Launches.size(), 1u);
  const KnownObject &O = P.Launches[0].Objects.at(0);
  EXPECT_EQ(O.Head, 8u);
  EXPECT_EQ(O.Tail, 8u);
  EXPECT_EQ(wordOf<int>(O, 0), 3);
  EXPECT_EQ(wordOf<int>(O, 16), 4);
  ASSERT_EQ(P.Candidates.size(), 1u);
  const KernelParameter &K = P.Candidates[0].Kernels.at(0);
  EXPECT_EQ(K.Position, std::nullopt);
  EXPECT_EQ(K.Struct, 0u);
  EXPECT_EQ(K.Offset, 8u);
}

TEST(Launches, findPointersInStructsInStructs) {
  const Program P = programOf(R"(
    struct Q { float x, y; };
    struct Inner { int many; Q *p; };
    struct Outer { double first; Inner in[1]; Inner one; Outer() = default; Outer(int n) : one{n, nullptr} {} };
    __global__ void k(int n, Outer o) { o.one.p[n].x = 1; }
    int main() {
      Q *q;
      cudaMalloc((void **)&q, 64 * sizeof(Q));
      Outer o(3);
      o.one.p = q;
      k<<<1, 64>>>(5, o);
    })");
  ASSERT_EQ(P.Candidates.size(), 1u);
  for (const KernelParameter &K : P.Candidates[0].Kernels)
    if (K.Struct) {
      EXPECT_EQ(K.Struct, 1u);
      EXPECT_EQ(K.Offset, 32u);
    }
}

TEST(Copies, countTheirBytesAndTheLoopsAroundThem) {
  Program P = find(R"(
    int main() {
      Q *d, h[100];
      cudaMalloc((void **)&d, sizeof(h));
      for (int i = 0; i < 3; ++i)
        for (int j = 10; j > 0; j -= 2)
          cudaMemcpy(d, h, 50 * sizeof(Q), cudaMemcpyHostToDevice);
      k<<<1, 32>>>(d, 100);
    })");
  ASSERT_EQ(P.Candidates.size(), 1u);
  const Candidate &C = P.Candidates[0];
  EXPECT_FALSE(C.refused());
  EXPECT_EQ(C.Elements.Count, 100);
  ASSERT_EQ(C.Calls.size(), 2u);
  EXPECT_EQ(C.Calls[1].Bytes, 400);
  EXPECT_EQ(C.Calls[1].Times, 15);
}

TEST(Copies, ofAnOpaqueByteCountRefuse) {
  Program P = find(R"(
    size_t bytes();
    int main() {
      Q *d;
      cudaMalloc((void **)&d, bytes());
      k<<<1, 32>>>(d, 100);
    })");
  ASSERT_EQ(P.Candidates.size(), 1u);
  ASSERT_EQ(P.Candidates[0].Refusals.size(), 1u);
  EXPECT_EQ(P.Candidates[0].Refusals[0].Reason, "this byte count is not seen to be a whole number of records; write it with sizeof, here or in a variable that gets no other value");
}

TEST(Flow, unitesWhatMayHoldTheSameArray) {
  Program P = find(R"(
    __global__ void two(const Q *in, Q *out, int n) { out[0] = in[0]; }
    int main() {
      Q *a, *b, *other;
      cudaMalloc((void **)&a, 64 * sizeof(Q));
      cudaMalloc((void **)&b, 64 * sizeof(Q));
      cudaMalloc((void **)&other, 64 * sizeof(Q));
      for (int i = 0; i < 8; ++i) {
        two<<<1, 64>>>(a, b, 64);
        Q *t = a;
        a = b;
        b = t;
      }
      k<<<1, 64>>>(other, 64);
    })");
  ASSERT_EQ(P.Candidates.size(), 2u);
  EXPECT_TRUE(P.Candidates[0].SharesRecord);
  std::vector<size_t> Kernels{P.Candidates[0].Kernels.size(), P.Candidates[1].Kernels.size()};
  EXPECT_EQ(Kernels, (std::vector<size_t>{1, 2})); // one for each position
  EXPECT_NE(P.Candidates[0].Name, P.Candidates[1].Name);
}
