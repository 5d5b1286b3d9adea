// What the host writes into arrays that kernels take.

#include "tests/program/ProgramOf.h"

#include <set>

using namespace restride;

static const char *const Head = R"(
namespace std {
template <class T> struct vector {
  vector(); vector(size_t); T *data(); const T *data() const; T &operator[](size_t); T *begin(); T *end(); size_t size() const; void push_back(const T &);
  template <class... A> void emplace_back(A &&...);
};
template <class A, class B> struct pair { A first; B second; template <class U, class V> pair(U &&u, V &&v) : first(u), second(v) {} };
template <class T> void swap(T &, T &);
template <class T> void sort(T, T);
template <class T> const T &min(const T &a, const T &b) { return b < a ? b : a; }
}
extern "C" int rand();
extern "C" double sqrt(double);
struct Q { int next; float x; int corner[2]; };
static unsigned hash(unsigned k) { k = (k ^ k >> 16) * 0x7feb352du; return k ^ k >> 15; }
)";

/// main() fills \p Element arrays h and copies them to d, which \p Kernel takes.
static Launch launchOf(const std::string &Fill, const std::string &Element = "int",
                       const std::string &Kernel = "__global__ void k(const E *p, float *o) { o[0] = 1; }") {
  Program P = programOf(Head + ("typedef " + Element + " E;\n") + Kernel + R"(
    int main(int argc, char **argv) {
      int n = argc > 1 ? atoi(argv[1]) : 1000;
      std::vector<E> h(n);
      float *o;
      E *d;
      cudaMalloc((void **)&d, n * sizeof(E));
      cudaMalloc((void **)&o, n * sizeof(float));
      )" + Fill + R"(
      cudaMemcpy(d, h.data(), n * sizeof(E), cudaMemcpyHostToDevice);
      k<<<4, 256>>>(d, o);
    })");
  EXPECT_EQ(P.Launches.size(), 1u);
  return P.Launches.empty() ? Launch() : P.Launches[0];
}

/// The integer at byte \p Offset behind the parameter \p Position, or behind its member at \p Word.
static std::optional<int64_t> at(const Launch &L, uint64_t Offset, unsigned Position = 0, unsigned Word = 0) {
  if (Position < L.Fills.size())
    for (const Fill &F : L.Fills[Position])
      if (std::optional<std::vector<uint64_t>> Trips = F.Word == Word ? F.tripsAt(Offset) : std::nullopt)
        return F.value(*Trips);
  return std::nullopt;
}

TEST(HostFills, areFormulasOfThePlace) {
  Launch L = launchOf("for (int i = 0; i < n; ++i) h[i] = (i * 3 + 1) % n;");
  EXPECT_EQ(at(L, 4 * 10), 31);
  EXPECT_EQ(at(L, 4 * 999), (999 * 3 + 1) % 1000);
  EXPECT_FALSE(at(L, 4 * 1000));
  EXPECT_FALSE(L.Fills[0][0].Scattered);
  EXPECT_EQ(L.Notes.back(), "integers of 'p' are as the host writes them");
}

TEST(HostFills, followVariablesTablesAndFunctions) {
  Launch L = launchOf(R"(
      int side = std::min(n, 10), steps[] = {1, side, side * side};
      auto place = [&](int x, int y) { return y * side + x; };
      for (int i = 0; i < n; ++i) {
        int x = i % side, y = i / side % side;
        h[i] = place(x, y) + steps[i % 3] + (int)sqrt(side * 10.0);
      })");
  const int Steps[] = {1, 10, 100};
  for (int I : {0, 1, 2, 57, 100})
    EXPECT_EQ(at(L, 4 * I), I % 10 + I / 10 % 10 * 10 + Steps[I % 3] + 10) << I;
}

TEST(HostFills, followMethods) {
  const char *const Fill = R"(
      for (int y = 0; y < g.ny; ++y)
        for (int x = 0; x < g.nx; ++x)
          h[g.at(x, y)] = g.tile(x, y) + Grid::twice(x);)";
  const std::string Grid = R"(
      struct Grid {
        int nx, ny, side;
        int at(int x, int y) const { return y * nx + x; }
        int tile(int x, int y) const { return y / side * across() + x / side; }
        int across() const { return (nx + side - 1) / side; }
        static int twice(int x) { return 2 * x; }
      };
      Grid g;
      g.nx = 40;
      g.ny = n / g.nx;
      g.side = 8;)";
  Launch L = launchOf(Grid + Fill);
  for (int I : {0, 7, 8, 39, 40, 999})
    EXPECT_EQ(at(L, 4 * I), I / 40 / 8 * 5 + I % 40 / 8 + 2 * (I % 40)) << I;
  // Of an object that is another one in each trip.
  L = launchOf(Grid + "for (int i = 0; i < n; ++i) { h[i] = g.across(); g.nx += i; }");
  EXPECT_FALSE(at(L, 0));
}

TEST(HostFills, ofWhatACounterPlaces) {
  Launch L = launchOf("int t = 0; for (int y = 0; y < 10; ++y) for (int x = 5; x < 45; x += 2) { h[t++] = x; h[t++] = 100 * y; }");
  for (int I : {0, 1, 38, 41, 399}) // twenty trips of two
    EXPECT_EQ(at(L, 4 * I), I % 2 ? I / 40 * 100 : 5 + I % 40) << I;
  EXPECT_FALSE(at(L, 4 * 400));
  L = launchOf("int t = 3; for (int y = 0; y < 10; ++y) { for (int x = 0; x < 4; ++x) h[4 * t + x] = t; t += 2; } for (int i = 0; i < n; ++i) ++t;");
  EXPECT_EQ(at(L, 4 * (4 * 7 + 1)), 7);
  EXPECT_FALSE(at(L, 4 * (4 * 6 + 1)));
  L = launchOf("int at = -1; for (int y = 0; y < 10; ++y) { int k = y; for (int x = 0; x < 4; ++x) { ++at; h[at] = k++; } }");
  EXPECT_EQ(at(L, 4 * 39), 12);
  const std::string Loop = "int t = 0; for (int i = 0; i < n; ++i) ";
  for (const std::string &Fill : {Loop + "{ if (i % 3) t++; h[t] = i; }", Loop + "{ if (i == 7) continue; h[t++] = i; }", Loop + "{ h[t] = i; t *= 2; }",
                                 Loop + "{ h[t] = i; for (int k = 0; k < 3; ++k) ++t; }", Loop + "{ h[t] = i; i % 3 ? ++t : t; }", "int t = 0; t = atoi(argv[1]); " + Loop.substr(11) + "h[t++] = i;"})
    EXPECT_TRUE(launchOf(Fill).Fills.empty()) << Fill;
}

TEST(HostFills, ofLoopsInAnyOrderAndDirection) {
  Launch L = launchOf("for (int i = n / 4 - 1; i >= 0; --i) for (int k = 0; k < 4; k++) h[k * (n / 4) + i] = 10 * i + k;");
  EXPECT_EQ(at(L, 4 * (3 * 250 + 17)), 173);
  L = launchOf("for (int i = 0; i < n; i += 2) { h[i] = i; h[i + 1] = -1; }");
  EXPECT_EQ(at(L, 4 * 6), 6);
  EXPECT_EQ(at(L, 4 * 7), -1);
}

TEST(HostFills, ofFieldsHoweverTheyAreWritten) {
  for (const char *Fill : {"for (int i = 0; i < n; ++i) h[i] = {i + 1, 0.5f, {i, 2 * i}};",
                           "for (int i = 0; i < n; ++i) { h[i].next = i + 1; h[i].corner[0] = i; h[i].corner[1] = 2 * i; }",
                           "for (int i = 0; i < n; ++i) { h[i].next = i + 1; for (int c = 0; c < 2; ++c) h[i].corner[c] = (c + 1) * i; }",
                           "for (int i = 0; i < n; ++i) { Q &q = h[i]; q.next = i + 1; q.corner[0] = i; q.corner[1] = 2 * i; }",
                           "for (int i = 0; i < n; ++i) { Q q; q.next = i + 1; q.corner[0] = i; q.corner[1] = 2 * i; h[i] = q; }"}) {
    Launch L = launchOf(Fill, "Q");
    EXPECT_EQ(at(L, 16 * 7), 8) << Fill;
    EXPECT_FALSE(at(L, 16 * 7 + 4)) << "a float: " << Fill;
    EXPECT_EQ(at(L, 16 * 7 + 8), 7) << Fill;
    EXPECT_EQ(at(L, 16 * 7 + 12), 14) << Fill;
  }
}

TEST(HostFills, drawWhatIsUnknownWhereItIsBounded) {
  Launch L = launchOf("for (int i = 0; i < n; ++i) h[i] = i + hash(i) % 8;");
  for (int I : {3, 500}) {
    EXPECT_GE(at(L, 4 * I).value_or(-1), I);
    EXPECT_LT(at(L, 4 * I).value_or(2000), I + 8);
  }
  EXPECT_FALSE(L.Fills[0][0].Scattered);
  // As often as a share says.
  L = launchOf("auto share = [&] { return rand() / 2147483648.0; }; for (int i = 0; i < n; ++i) h[i] = share() < 0.04 ? 1 : 0.9 >= share() ? 2 : 3;");
  int Seen[4] = {};
  for (int I = 0; I < 1000; ++I)
    ++Seen[at(L, 4 * I).value_or(0) & 3];
  EXPECT_NEAR(Seen[1], 40, 25);
  EXPECT_NEAR(Seen[2], 864, 40);
  EXPECT_EQ(Seen[0], 0);
  EXPECT_TRUE(launchOf("for (int i = 0; i < n; ++i) h[i] = hash(i) % n;").Fills.at(0)[0].Scattered);
  EXPECT_TRUE(launchOf("for (int i = 0; i < n; ++i) h[i] = (int)(rand() / 2147483648.0 * n);").Fills.at(0)[0].Scattered);
  EXPECT_TRUE(launchOf("for (int i = 0; i < n; ++i) h[i] = i; for (int i = 0; i < n; ++i) std::swap(h[i], h[hash(i) % n]);").Fills.at(0)[0].Shuffled);
}

/// main() appends to v and copies it to d.
static Launch appended(const std::string &Fill) {
  Program P = programOf(Head + std::string(R"(
    __global__ void k(const Q *p, float *o) { o[0] = 1; }
    int main(int argc, char **argv) {
      int n = argc > 1 ? atoi(argv[1]) : 10;
      std::vector<Q> v;
      float *o;
      Q *d;
      )") + Fill + R"(
      cudaMalloc((void **)&d, v.size() * sizeof(Q));
      cudaMalloc((void **)&o, n * sizeof(float));
      cudaMemcpy(d, v.data(), v.size() * sizeof(Q), cudaMemcpyHostToDevice);
      k<<<4, 256>>>(d, o);
    })");
  EXPECT_EQ(P.Launches.size(), 1u);
  return P.Launches.empty() ? Launch() : P.Launches[0];
}

TEST(HostFills, areOneOrTheOtherWhereAnyNumberIsCompared) {
  const Launch L = launchOf("int dead = 0; for (int i = 0; i < n; ++i) { if (atoi(argv[1])) dead = 100; if (dead > 0) dead--; h[i] = dead == 0; }");
  int Ones = 0;
  for (int I = 0; I < 1000; ++I) {
    const std::optional<int64_t> Value = at(L, 4 * I);
    ASSERT_TRUE(Value);
    Ones += *Value == 1;
  }
  EXPECT_NEAR(Ones, 500, 60);
}

TEST(HostFills, takeAShareOfANumberToLieBelowIt) {
  const std::string Draw = "auto draw = [&seed] { seed = seed * 1664525u + 1013904223u; return (seed >> 8) / 16777216.0f; }; ";
  auto of = [&](const std::string &Value) { return launchOf("unsigned seed = 7; " + Draw + "for (int i = 0; i < n; ++i) h[i] = " + Value + ";"); };
  for (int I : {3, 500}) {
    EXPECT_LT(at(of("(int)(draw() * 50)"), 4 * I).value_or(50), 50);
    EXPECT_LT(at(of("int(n / 20 * (1 - draw()))"), 4 * I).value_or(50), 50);
    const int64_t Above = at(of("(int)(3 + draw() * 4.5)"), 4 * I).value_or(0);
    EXPECT_GE(Above, 3);
    EXPECT_LT(Above, 8);
  }
  EXPECT_EQ(at(of("(int)(draw() - 50)"), 4 * 7), -49);
  EXPECT_TRUE(of("(int)(sqrt(i) * 50)").Fills.empty()) << "a length";
}

static const char *const Library = R"(
namespace std {
struct mersenne_twister_engine { unsigned operator()(); };
template <class T> struct uniform_int_distribution { uniform_int_distribution(T a = 0, T b = 2147483647); template <class G> T operator()(G &); };
template <class T> struct uniform_real_distribution { uniform_real_distribution(T a = 0, T b = 1); template <class G> T operator()(G &); };
struct bernoulli_distribution { bernoulli_distribution(double p = 0.5); template <class G> bool operator()(G &); };
}
struct Random {
  unsigned state;
  unsigned next() { state = state * 1664525u + 1013904223u; return state >> 8; }
  unsigned below(unsigned bound) { return next() % bound; }
  float between(float low, float high) { return low + (high - low) * next() / 16777216.0f; }
};
static unsigned fromState(unsigned &s, unsigned bound) { s ^= s << 13; s ^= s >> 17; return s % bound; }
static int fromEngine(std::mersenne_twister_engine &g, int low, int high) { std::uniform_int_distribution<int> d(low, high); return d(g); }
__global__ void k(const E *p, float *o) { o[0] = 1; })";

/// The least and the greatest of a thousand integers that the host draws.
static std::pair<int64_t, int64_t> drawn(const std::string &Value, const std::string &Before = "") {
  const Launch L = launchOf("Random random{3}; unsigned state = 7; std::mersenne_twister_engine g; " + Before + " for (int i = 0; i < n; ++i) h[i] = " + Value + ";", "int", Library);
  int64_t Low = INT64_MAX, High = INT64_MIN;
  for (int I = 0; I < 1000; ++I)
    if (const std::optional<int64_t> V = at(L, 4 * I)) {
      Low = std::min(Low, *V);
      High = std::max(High, *V);
    }
  return {Low, High};
}

TEST(HostFills, lieBetweenWhatTheyAreDrawnBetween) {
  using Bounds = std::pair<int64_t, int64_t>;
  EXPECT_EQ(drawn("18 + below(11)", "auto below = [&state](unsigned bound) { state = state * 2862933555u + 3037u; return (state >> 3) % bound; };"), Bounds(18, 28));
  EXPECT_EQ(drawn("random.below(5)"), Bounds(0, 4));
  EXPECT_EQ(drawn("fromState(state, 7)"), Bounds(0, 6));
  EXPECT_EQ(drawn("kind(g)", "std::uniform_int_distribution<int> kind(2, 9);"), Bounds(2, 9));
  EXPECT_EQ(drawn("std::uniform_int_distribution<int>(-1, 1)(g)"), Bounds(-1, 1));
  EXPECT_EQ(drawn("fromEngine(g, 3, 6)"), Bounds(3, 6));
  EXPECT_EQ(drawn("g() % 4"), Bounds(0, 3));
  EXPECT_EQ(drawn("(int)real(g)", "std::uniform_real_distribution<float> real(20, 30);"), Bounds(20, 29));
  EXPECT_EQ(drawn("(int)(10 * real(g) - 5)", "std::uniform_real_distribution<double> real;"), Bounds(-5, 4));
  EXPECT_EQ(drawn("(int)random.between(-2, 3)"), Bounds(-2, 2));
  EXPECT_EQ(drawn("(int)(rand() / 2147483647.0f * 8)"), Bounds(0, 7));
  EXPECT_EQ(drawn("(int)((rand() % 100) / 10.0f)"), Bounds(0, 9));
}

TEST(HostFills, followMembersOfARecordThatATripMakes) {
  auto seen = [](const std::string &Grows) {
    const Launch L = launchOf("for (int i = 0; i < n; ++i) { Q one{}; one.corner[0] = 0; one.next = (short)(10 + rand() % 50); " + Grows + " h[i] = one.next / 10 + 2; }");
    std::set<int64_t> Out;
    for (int I = 0; I < 1000; ++I)
      if (const std::optional<int64_t> V = at(L, 4 * I))
        Out.insert(*V);
    return Out;
  };
  EXPECT_EQ(seen(""), (std::set<int64_t>{3, 4, 5, 6, 7}));
  EXPECT_NE(seen("one.next *= 7;"), (std::set<int64_t>{3, 4, 5, 6, 7})) << "it is not what it was given any more";
}

TEST(HostFills, endWhereWhatIsDrawnHasNoBounds) {
  std::string Squares = "float x0 = random.between(1, 4);"; // each of them asks twice for the one before
  for (int I = 1; I < 30; ++I)
    Squares += " float x" + std::to_string(I) + " = x" + std::to_string(I - 1) + " * x" + std::to_string(I - 1) + ";";
  const Launch L = launchOf("Random random{3}; for (int i = 0; i < n; ++i) { " + Squares + " h[i] = (int)x29; }", "int", Library);
  EXPECT_EQ(at(L, 4 * 700), std::nullopt);
  const Launch Large = launchOf("Random random{3}; for (int i = 0; i < n; ++i) h[i] = (int)(random.between(1, 4) * 1e18f * 1e18f);", "int", Library);
  EXPECT_TRUE(Large.Fills.at(0).at(0).Shuffled) << "any number";
}

TEST(HostFills, areTrueAsOftenAsDrawn) {
  auto count = [](const std::string &Value, const std::string &Before) {
    const Launch L = launchOf("auto next = [] { return (float)rand() / 2147483647.0f; }; " + Before + " for (int i = 0; i < n; ++i) h[i] = " + Value + ";", "int", Library);
    int Ones = 0;
    for (int I = 0; I < 1000; ++I)
      Ones += at(L, 4 * I) == 1;
    return Ones;
  };
  EXPECT_NEAR(count("2 + 4 * next() < 3", ""), 250, 50);
  EXPECT_NEAR(count("std::bernoulli_distribution(0.2)(g)", "std::mersenne_twister_engine g;"), 200, 50);
  EXPECT_NEAR(count("uniform(10, 20) > 19", "auto uniform = [&](float low, float high) { return low + (high - low) * next(); };"), 100, 40);
}

/// Contacts that \p Host puts into parts, from where a function that is not followed takes them.
static Launch contactsOf(const std::string &Host, const std::string &Kernel = "b[p[i].a].x += b[p[i].b].x;") {
  Program P = programOf(Head + ("struct Body { float x, y; }; struct Contact { int a, b; float depth; };\n"
    "std::vector<Contact> joined(std::vector<std::vector<Contact>> &);\n"
    "__global__ void k(const Contact *p, Body *b, int n) { int i = n; if (i < n) { " + Kernel) + R"( } }
    int main(int argc, char **argv) {
      int n = argc > 1 ? atoi(argv[1]) : 1000;
      unsigned seed = 7;
      auto draw = [&seed] { seed = seed * 1664525u + 1013904223u; return seed >> 8; };
      std::vector<std::vector<Contact>> parts(n);
      )" + Host + R"(
      std::vector<Contact> all = joined(parts);
      Contact *d;
      Body *b;
      cudaMalloc((void **)&d, all.size() * sizeof(Contact));
      cudaMalloc((void **)&b, n * sizeof(Body));
      cudaMemcpy(d, all.data(), all.size() * sizeof(Contact), cudaMemcpyHostToDevice);
      k<<<4, 256>>>(d, b, (int)all.size());
    })");
  EXPECT_EQ(P.Launches.size(), 1u);
  return P.Launches.empty() ? Launch() : P.Launches[0];
}

TEST(HostFills, areShuffledWhereElementsAreExchangedByHand) {
  const std::string Loop = "for (int i = 0; i < n; ++i) ", Ordered = Loop + "h[i] = i; ", Records = Loop + "{ h[i].next = i; h[i].x = 1; } ";
  EXPECT_FALSE(launchOf(Ordered).Fills.at(0).at(0).Shuffled);
  EXPECT_TRUE(launchOf(Ordered + Loop + "{ int j = rand() % (i + 1), t = h[i]; h[i] = h[j]; h[j] = t; }").Fills.at(0).at(0).Shuffled);
  EXPECT_TRUE(launchOf(Records + Loop + "{ Q t = h[i]; h[i] = h[n - i - 1]; h[n - i - 1] = t; }", "Q").Fills.at(0).at(0).Shuffled);
  EXPECT_EQ(at(launchOf(Loop + "{ h[i] = h[0]; h[i].next = i; }", "Q"), 16 * 700), 700) << "copies of one";
}

TEST(HostFills, doNotKnowHowLargeWhatGrowsIsMeanwhile) {
  const std::string Grow = "for (int k = 0; k < 3; ++k) points.push_back(k);", Fill = "for (int i = 0; i < n; ++i) { h[i] = points.size(); ";
  EXPECT_EQ(at(launchOf("std::vector<int> points; " + Fill + Grow + "}"), 4 * 700), std::nullopt);
  EXPECT_EQ(at(launchOf("std::vector<int> points; " + Grow + Fill + "}"), 4 * 700), 3);
}

TEST(HostFills, followRanges) {
  EXPECT_EQ(at(launchOf("for (E &e : h) e = 7;"), 4 * 700), 7);
  EXPECT_EQ(at(launchOf("int three = 3; for (auto &e : h) e.corner[1] = 2 * three;", "Q"), 16 * 700 + 12), 6);
  EXPECT_EQ(at(launchOf("int next = 0; for (E &e : h) e = next++;"), 4 * 700), 700);
  EXPECT_EQ(at(launchOf("for (E e : h) e = 7;"), 4 * 700), std::nullopt) << "copies";
}

TEST(HostFills, knowAGeneratorByItsState) {
  const std::string Random = "static unsigned seed = 7; struct Random { unsigned state; unsigned next() { state = state * 1664525u + 1013904223u; return state >> 8; } };\n"
                             "static unsigned draw() { seed ^= seed << 13; return seed ^= seed >> 17; }\nstatic int number() { return seed++; }\n"
                             "__global__ void k(const E *p, float *o) { o[0] = 1; }";
  auto of = [&](const std::string &Value) { return launchOf("Random r{3}; for (E &e : h) e = " + Value + ";", "int", Random); };
  for (const char *Value : {"draw() % n", "r.next() % n"}) {
    const Launch L = of(Value);
    EXPECT_LT(at(L, 4 * 700).value_or(1000), 1000) << Value;
    ASSERT_FALSE(L.Fills.empty()) << Value;
    EXPECT_TRUE(L.Fills[0][0].Scattered) << Value;
  }
  EXPECT_TRUE(of("draw()").Fills.at(0).at(0).Shuffled) << "any number";
  EXPECT_TRUE(of("number()").Fills.empty()) << "one after the other";
}

TEST(HostFills, takeWhatIsWrittenLast) {
  EXPECT_EQ(at(launchOf("for (int i = 0; i < n; ++i) { h[i] = 0; h[i] = 3 * i; }"), 4 * 700), 2100);
  EXPECT_EQ(at(launchOf("for (int i = 0; i < n; ++i) h[i] = 0; for (int i = 0; i < n; ++i) h[i] = 3 * i;"), 4 * 700), 2100);
}

TEST(HostFills, takeWhatIsWrittenWhereValuesAreNotEqual) {
  EXPECT_EQ(at(launchOf("for (int i = 0; i < n; ++i) { if (hash(i) % 20 == 0) h[i] = 7; else h[i] = i; if (h[i] == 0) h[i] = 2; }"), 40), 10);
  EXPECT_EQ(at(launchOf("for (int i = 0; i < n; ++i) { if (hash(i) % 20 != 0) h[i] = i; else h[i] = 7; }"), 40), 10);
  EXPECT_EQ(at(launchOf("for (int i = 0; i < n; ++i) { if (i % 2 == 0) h[i] = 7; if (i % 2 == 1) h[i] = 8; }"), 40), 8); // either is as good
}

TEST(HostFills, doNotTakeWhatIsOverwrittenByTheUnknown) {
  for (const char *Zero : {"for (int i = 0; i < n; ++i) h[i] = {}; ", ""})
    EXPECT_EQ(at(launchOf(std::string(Zero) + "for (int i = 0; i < n; ++i) { h[i] = Q{}; h[i].next = atoi(argv[i]); }", "Q"), 16 * 700), std::nullopt);
  EXPECT_EQ(at(launchOf("for (int i = 0; i < n; ++i) { h[i] = 3; if (i % 7 == 0) h[i] = atoi(argv[i]); }"), 4 * 700), 3) << "in few places";
}

TEST(HostFills, followFunctionsStatementByStatement) {
  const std::string Functions = R"(
    static unsigned jenkins(unsigned a) { a += ~(a << 15); a ^= a >> 10; a += a << 3; unsigned b = a ^ (a >> 6); b *= 3; return b; }
    static int nested(int a) { int b = a; return (b += 3) * a; }
    static int early(int a) { if (a > 3) return 1; a += 2; return a; }
    static int &last(int &a) { a += 5; return a; }
    __global__ void k(const E *p, float *o) { o[0] = 1; })";
  auto of = [&](const std::string &Value, uint64_t I) { return at(launchOf("for (int i = 0; i < n; ++i) h[i] = " + Value + ";", "unsigned", Functions), 4 * I); };
  auto jenkins = [](unsigned A) {
    A += ~(A << 15);
    A ^= A >> 10;
    A += A << 3;
    return (A ^ (A >> 6)) * 3;
  };
  for (unsigned I : {0u, 3u, 700u}) {
    EXPECT_EQ(of("jenkins(i)", I), jenkins(I)) << I;
    EXPECT_EQ(of("jenkins(jenkins(i) | 1) & 255", I), jenkins(jenkins(I) | 1) & 255) << I;
    EXPECT_EQ(of("[&](int k) { k <<= 2; k = k + i; return k; }(i)", I), 5 * I) << I;
  }
  for (const char *Value : {"nested(i)", "early(i)", "last(n)"})
    EXPECT_EQ(of(Value, 700), std::nullopt) << Value;
}

TEST(HostFills, lieNearTheirPlaceIfCountersMakeThem) {
  const std::string Loop = "for (int i = 0; i < n; ++i) { ";
  const Launch L = contactsOf(Loop + "const int j = i / 10 * 10 + i % 3; if (j > 4) parts[j].push_back({i, j, 0}); }");
  for (int Offset : {0, 4}) {
    const int64_t Place = at(L, 12 * 700 + Offset).value_or(-1);
    EXPECT_GE(Place, 700);
    EXPECT_LT(Place, 708);
  }
  ASSERT_EQ(L.Fills.at(0).size(), 2u);
  EXPECT_TRUE(L.Fills[0][0].Guessed);
  EXPECT_EQ(L.Notes.back(), "integers in 'p.a', 'p.b' lie as near each other as the loops that make them say");
  // By a lambda and its arguments, a table, and a little noise.
  EXPECT_EQ(contactsOf("std::vector<int> number(n); auto add = [&](int a, int b) { parts[a].push_back({a, number[b], 0}); };" + Loop +
                       "add(i, i > 0 ? i - 1 : i + int(draw() % 9)); }").Fills.at(0).size(), 2u);
  // One of a table that was shuffled.
  EXPECT_EQ(contactsOf("std::vector<int> t(n); " + Loop + "std::swap(t[i], t[hash(i) % n]); }" + Loop + "parts[i].push_back({i, t[i], 0}); }").Fills.at(0).size(), 1u);
  // Where runs begin is no place, nor is what no subscript has.
  EXPECT_TRUE(contactsOf(Loop + "parts[i].push_back({i, i + 1, 0}); }", "for (int k = p[i].a; k < p[i].b; ++k) b[k].x = 0;").Fills.empty());
  EXPECT_TRUE(contactsOf(Loop + "parts[i].push_back({i, i + 1, 0}); }", "b[i].x = p[i].a + p[i].b;").Fills.empty());
  EXPECT_EQ(contactsOf(Loop + "parts[i].push_back({i, i + 1, 0}); }", "int at = p[i].a; b[at].x = 0;").Fills.at(0).size(), 1u);
}

TEST(HostFills, lieInNoOrderIfRandomNumbersMakeThem) {
  const std::string Loop = "for (int i = 0; i < n; ++i) { ";
  for (const char *Drawn : {"int(draw() % n)", "int(hash(i) % n)"}) {
    const Launch L = contactsOf(Loop + "parts[i].push_back({i, " + Drawn + ", 0}); }");
    ASSERT_EQ(L.Fills.at(0).size(), 2u) << Drawn;
    EXPECT_FALSE(L.Fills[0][0].Below);
    EXPECT_TRUE(L.Fills[0][1].Below) << "any number";
    EXPECT_EQ(L.Notes.back(), "integers in 'p.b' follow from random numbers or are copied one by one: they are in no order");
  }
  // Cells of positions, through functions and variables that branches give their values; but not of a lattice with noise.
  const std::string Cells = "struct Dot { float x; int cell; };\n"
                            "struct Rng { unsigned s; unsigned next() { s ^= s << 13; s ^= s >> 17; return s; } double uni() { return (next() >> 8) / 16777216.0; } };\n"
                            "static int cellOf(double x, double side) { int c = (int)(x / side); return c < 0 ? 0 : c; }\n"
                            "__device__ int max(int, int);\n"
                            "__global__ void k(const E *p, float *o) { const int first = max(0, p[3].cell - 1); o[first] += p[3].x; }";
  auto isDrawn = [&](const std::string &Body) {
    const Launch L = launchOf("Rng r{7}; for (E &e : h) { " + Body + " }", "struct Dot", Cells);
    return !L.Fills.empty() && llvm::any_of(L.Fills[0], [](const auto &F) { return F.Below; });
  };
  EXPECT_TRUE(isDrawn("double at; if (r.uni() < 0.5) at = 3 + 7 * r.uni(); else at = 9 * r.uni() / sqrt(2); e.cell = cellOf(at, 0.01);"));
  EXPECT_FALSE(isDrawn("e.cell = cellOf((&e - h.data()) * 0.5 + r.uni(), 0.01);"));
  EXPECT_FALSE(isDrawn("e.cell = 3;"));
}

TEST(HostFills, lieInNoOrderIfKernelsCopyThemFromOtherRecords) {
  for (const bool Copies : {true, false}) {
    const Program P = programOf(std::string(Head) + R"(
      struct Row { int first, count; };
      struct Item { int first, count; };
      __global__ void queue(const int *q, const Row *rows, Item *items, int n) {
        for (int i = 0; i < n; ++i) items[i].first = )" + (Copies ? "rows[q[i]].first" : "rows[q[i]].first + i") + R"(;
      }
      __global__ void k(const Item *p, float *o) { o[p[0].first] = 1; }
      int main() {
        Item *d; Row *r; int *q; float *o;
        cudaMalloc((void **)&d, 1000 * sizeof(Item)); cudaMalloc((void **)&r, 1000 * sizeof(Row)); cudaMalloc((void **)&q, 4000); cudaMalloc((void **)&o, 4000);
        queue<<<1, 32>>>(q, r, d, 1000);
        k<<<4, 256>>>(d, o);
      })");
    ASSERT_EQ(P.Launches.size(), 2u);
    const std::vector<std::vector<Fill>> &Fills = P.Launches[1].Fills;
    ASSERT_EQ(!Fills.empty() && !Fills[0].empty(), Copies);
    EXPECT_TRUE(!Copies || Fills[0][0].Below);
  }
}

TEST(HostFills, ofWhatLoopsGoUpToAreTheMeanThatTheHostCounts) {
  const std::string Node = "struct Node { float x; int count; };\n"
                           "__global__ void k(E *p, float *o) { for (int i = 0; i < p[3].count; ++i) o[i] += p[3].x; }\n";
  const std::string Counts = "for (int e = 0; e < 6 * n; ++e) { h[e % n].count++; h[e / 6].count++; }";
  const Launch L = launchOf("rand(); " + Counts, "struct Node", Node);
  EXPECT_EQ(at(L, 8 * 70 + 4), 12);
  EXPECT_EQ(L.Notes.back(), "integers in 'p.count' are as many as the host counts in the mean");
  EXPECT_TRUE(launchOf(Counts, "struct Node", Node + "__device__ void reset(E *p) { p[7].count = 0; }\n").Fills.empty()) << "kernels change it";
  EXPECT_EQ(at(launchOf(Counts, "struct Node", Node + "__device__ void grow(E *p) { p[7].count++; }\n"), 8 * 70 + 4), 12) << "they go on from there";
  EXPECT_TRUE(launchOf(Counts + " grow(h.data());", "struct Node", Node + "__host__ __device__ void grow(E *p) { p[7].count++; }\n").Fills.empty()) << "the host may count so, too";
  EXPECT_TRUE(launchOf("int at = rand(); for (int i = 0; i < n; ++i) { h[i].count = at; at += rand(); } " + Counts, "struct Node", Node).Fills.empty()) << "the end of a run";
}

TEST(HostFills, ofFlagsAreMostlyAsTheHostBeginsWithThem) {
  const std::string Types = "struct Link { float load; bool broken; int state, next; };\n"
                            "__global__ void k(E *p, float *o) { E &e = p[3]; if (e.broken) return; o[e.next] = e.load; if (e.load > 2) { e.broken = true; e.next = 7; e.state += 2; } }\n";
  auto flags = [&](const std::string &Body) { return launchOf("rand(); for (int i = 0; i < n; ++i) { " + Body + " }", "struct Link", Types); };
  const Launch L = flags("E e{}; e.load = rand(); e.broken = false; e.next = 0; h[i] = e; if (i % 50 == 0) h[i].broken = true;");
  ASSERT_EQ(L.Fills.size(), 1u);
  const auto Flag = llvm::find_if(L.Fills[0], [](const Fill &F) { return F.Stays < 1; });
  ASSERT_NE(Flag, L.Fills[0].end());
  EXPECT_EQ(Flag->Begin, 4u);
  EXPECT_EQ(Flag->value({70}), 0);
  unsigned Holds = 0;
  for (uint64_t Place = 0; Place < 1000; ++Place)
    Holds += Flag->holdsAt(Place * 16 + 4);
  EXPECT_NEAR(Holds, 875, 40);
  EXPECT_EQ(llvm::count_if(L.Fills[0], [](const Fill &F) { return F.Stays < 1; }), 1) << "a subscript is no flag, and what kernels do not change is known";
  EXPECT_EQ(L.Notes.back(), "integers in 'p.broken' are as the host begins with them in most records, or in half of them where that is negative, though kernels change some");
  const Launch Compared = launchOf("rand(); for (int i = 0; i < n; ++i) { h[i] = E{}; h[i].x = rand(); }", "struct Ray", "struct Ray { float x; int outlier, kept; };\n"
                                   "__global__ void k(E *p, float *o) { if (p[3].outlier || p[3].kept) return; o[3] = p[3].x; p[3].outlier = p[3].x > 2; p[3].kept = p[3].x; }\n");
  ASSERT_EQ(Compared.Fills.size(), 1u);
  EXPECT_EQ(llvm::count_if(Compared.Fills[0], [](const Fill &F) { return F.Stays < 1 && F.Begin == 4; }), 1);
  EXPECT_EQ(llvm::count_if(Compared.Fills[0], [](const Fill &F) { return F.Stays < 1 && F.Begin == 8; }), 0) << "any number";
  const Launch Negative = flags("h[i].state = -1;");
  ASSERT_EQ(Negative.Fills.size(), 1u) << "not there yet";
  EXPECT_EQ(Negative.Fills[0].back().value({70}), -1);
  EXPECT_EQ(Negative.Fills[0].back().Stays, 0.5);
  for (const char *Body : {"h[i].broken = rand() % 2;", "h[i].state = 0;", "h[i].broken = i > 7; h[i].load = 1;", "h[i].broken = true; h[i].broken = false;"})
    EXPECT_FALSE(llvm::any_of(flags(Body).Fills, [](const std::vector<Fill> &F) { return llvm::any_of(F, [](const Fill &One) { return One.Stays < 1; }); })) << Body;
}

TEST(HostFills, ofFlagsThatAFunctionSetsInWholeRecords) {
  const std::string Types = "struct Stone { float mass; int state, layers; unsigned seed; };\n"
                            "__host__ __device__ Stone made(unsigned seed) { Stone s; s.mass = seed; s.layers = s.state = 0; s.seed = seed; return s; }\n"
                            "__global__ void k(E *p, float *o) { if (p[3].state != 0) return; Stone s = p[3]; for (int i = 0; i < 8 && s.state == 0; ++i) { s.layers++; if (s.mass > i) s.state = 1; if (s.mass < 0) s.state = 2; }"
                            " p[3] = s; if (s.state == 2) p[3] = made(s.seed + 7); }\n";
  const Launch L = launchOf("for (int i = 0; i < n; ++i) h[i] = made(i + 5u);", "struct Stone", Types);
  ASSERT_EQ(L.Fills.size(), 1u);
  const auto Flag = llvm::find_if(L.Fills[0], [](const Fill &F) { return F.Stays < 1; });
  ASSERT_NE(Flag, L.Fills[0].end());
  EXPECT_EQ(Flag->Begin, 4u);
  EXPECT_EQ(Flag->value({70}), 0) << "kernels give it 1 and 2";
  EXPECT_FALSE(llvm::any_of(L.Fills[0], [](const Fill &F) { return F.Begin == 8 && F.Stays < 1; })) << "layers are counted";
}

TEST(HostFills, knowWhichRecordsTheHostLaysOutInSpace) {
  const std::string Dot = "struct Dot { float3 at; float mass; };\n" + std::string("__device__ int cellOf(float3 v) { return (int)v.x + 100 * (int)floorf(v.y); }\n"
                          "__global__ void k(E *p, float *o) { o[cellOf(p[3].at)] = p[3].mass; }\n");
  const std::string Types = "extern \"C\" __device__ float floorf(float);\nstruct float3 { float x, y, z; }; static float3 make_float3(float x, float y, float z) { return {x, y, z}; }\n"
                            "static unsigned state; static float uni() { state = state * 747796405u + 1; return (state >> 8) / 16777216.0f; }\n"
                            "static float between(float low, float high) { return low + (high - low) * uni(); }\n";
  auto places = [&](const std::string &Body, const std::string &Place = "y * 20 + x", const std::string &Before = "") {
    const std::string Rows = Before + "for (int y = 0; y < 50; ++y) for (int x = 0; x < 20; ++x) { E &e = h[" + Place + "]; " + Body + " }";
    return launchOf(Rows, "struct Dot", Types + Dot).Places;
  };
  auto lies = [&](const std::string &Body, const std::string &Place = "y * 20 + x", const std::string &Before = "") { return places(Body, Place, Before) == SpatialOrder::Lattice; };
  EXPECT_TRUE(lies("e.at.x = x + 0.5f; e.at.y = 0.1f * y;"));
  EXPECT_TRUE(lies("e.at = make_float3(x + 0.2f * uni(), 3 * y - 1 + between(-2.0f, 2.0f), uni()); e.mass = uni();"));
  EXPECT_TRUE(lies("E one; one.at = {x * 0.01f + 0.01f * uni(), y * 0.01f, 0}; e = one;"));
  EXPECT_FALSE(lies("e.at = {50 * uni(), 20 * uni(), 0};")) << "anywhere";
  EXPECT_FALSE(lies("e.at = make_float3(x + 40 * uni(), y + between(-30.0f, 30.0f), 0);")) << "moved too far";
  EXPECT_FALSE(lies("e.at.x = x; e.mass = 1;")) << "one number is no place";
  const std::string Place = "e.at.x = x; e.at.y = y;", Numbers = "std::vector<int> number(n); for (int i = 0; i < n; ++i) number[i] = i; ";
  EXPECT_TRUE(lies(Place, "number[y * 20 + x]", Numbers));
  EXPECT_FALSE(lies(Place, "number[y * 20 + x]", Numbers + "for (int i = 0; i < n; ++i) { int j = rand() % (i + 1), t = number[i]; number[i] = number[j]; number[j] = t; } ")) << "shuffled";
  EXPECT_FALSE(lies(Place, "rand() % n")) << "anywhere";
  const std::string Pairs = "std::vector<std::pair<int, int>> quads; ";
  EXPECT_TRUE(lies(Place + " quads.push_back({x, y});", "y * 20 + x", Pairs)) << "a pair copies what it is made of";
  EXPECT_TRUE(lies(Place + " quads.emplace_back(x, y);", "y * 20 + x", Pairs));
  EXPECT_EQ(places("e.at = {50 * uni(), 20 * uni(), 0};"), SpatialOrder::Random);
  EXPECT_EQ(places("e.at = make_float3(between(0, 50), x, 0);"), SpatialOrder::Unknown) << "some of both";
  EXPECT_EQ(places("e.at = {0, 0, uni()}; e.mass = 7 * uni();"), SpatialOrder::Unknown) << "nobody makes cells of these";
  const std::string Scattered = Numbers + "std::vector<int> place(n); for (int i = 0; i < n; ++i) place[rand() % n] = i; ";
  EXPECT_FALSE(lies("e.at.x = place[y * 20 + x] % 50; e.at.y = place[y * 20 + x] / 50;", "y * 20 + x", Scattered)) << "written in no order";
  Program P = programOf(Head + std::string(R"(
    struct Dot { float x, y; };
    __global__ void k(const Dot *p, float *o) { o[(int)p[3].x + (int)p[3].y] = 1; }
    static void lay(Dot *h, int *number, int n) {
      for (int i = 0; i < n; ++i) number[i] = i;
      for (int i = 0; i < n; ++i) { int j = rand() % (i + 1), t = number[i]; number[i] = number[j]; number[j] = t; }
      for (int y = 0; y < 50; ++y) for (int x = 0; x < 20; ++x) { Dot *e = &h[number[y * 20 + x]]; e->x = x; e->y = y; }
    }
    int main() {
      Dot *h = new Dot[1000], *d;
      int *number = new int[1000];
      float *o;
      lay(h, number, 1000);
      cudaMalloc((void **)&d, 1000 * sizeof(Dot));
      cudaMalloc((void **)&o, 4000);
      cudaMemcpy(d, h, 1000 * sizeof(Dot), cudaMemcpyHostToDevice);
      k<<<4, 256>>>(d, o);
    })"));
  ASSERT_EQ(P.Launches.size(), 1u);
  EXPECT_EQ(P.Launches[0].Places, SpatialOrder::Unknown) << "shuffled in a function";
}

TEST(HostFills, endWhereRecordsAreExchanged) {
  const Launch L = launchOf("E a{1}, b{2}; for (int i = 0; i < n; ++i) { E t = a; a = b; b = t; h[i] = a; }", "struct Dot { float x; int on; }",
                            "__global__ void k(E *p, float *o) { if (p[3].on) return; p[3].on = 1; o[0] = p[3].x; }");
  EXPECT_EQ(L.Places, SpatialOrder::Unknown);
}

TEST(HostFills, ofPlainArraysLieNearTheirPlaceToo) {
  auto of = [](const std::string &Fill, const std::string &Body = "o[p[3]] = 1;") { return launchOf(Fill, "int", "__global__ void k(const E *p, float *o) { " + Body + " }"); };
  const std::string Loop = "for (int i = 0; i < n; ++i) ", Steps = "const int steps[3] = {-30, 0, 30}; ",
                    Neighbours = Steps + Loop + "for (int k = 0; k < 3; ++k) { const int j = i + steps[k]; if (j >= 0 && j < n) h.push_back(j); }";
  const Launch L = of(Neighbours);
  EXPECT_GE(at(L, 4 * 700).value_or(0), 700);
  EXPECT_LT(at(L, 4 * 700).value_or(800), 708);
  ASSERT_EQ(L.Fills.at(0).size(), 1u);
  EXPECT_TRUE(L.Fills[0][0].Guessed);
  EXPECT_EQ(L.Notes.back(), "integers in 'p' lie as near each other as the loops that make them say");
  EXPECT_EQ(of(Loop + "h[i] = (int)(sqrt(i) * 50);").Fills.at(0).size(), 1u);
  EXPECT_EQ(of(Neighbours, "int j = p[3]; o[j] = 1;").Fills.at(0).size(), 1u);
  EXPECT_TRUE(of(Neighbours, "o[0] = p[3];").Fills.empty()) << "no place";
  EXPECT_TRUE(of(Neighbours, "for (int j = p[3]; j < p[4]; ++j) o[j] = 1;").Fills.empty()) << "where runs begin";
  EXPECT_TRUE(of(Loop + "h[h[i]] = i;").Fills.empty()) << "anywhere";
  const std::string Next = "static int next[1000]; ";
  EXPECT_EQ(of(Next + Loop + "h[next[i / 3]++] = i;").Fills.at(0).size(), 1u) << "in the order of keys that lie near";
  EXPECT_EQ(of(Next + Loop + "{ const int at = next[i / 3]++; h[at] = i; }").Fills.at(0).size(), 1u);
  EXPECT_TRUE(of(Next + Loop + "h[next[hash(i) % n]++] = i;").Fills.empty()) << "keys in no order";
  EXPECT_TRUE(of(Next + Loop + "{ const int at = next[hash(i) % n]++; h[at] = i; }").Fills.empty());
  EXPECT_TRUE(of(Loop + "h.push_back(hash(i) % 3 ? i : hash(i) % n);").Fills.empty());
}

TEST(HostFills, ofSubscriptsStayBelowTheExtent) {
  const char *Kernel = R"(
    struct S { short kind, other; unsigned char bin; float w[6]; };
    __constant__ float weights[12];
    __global__ void k(const S *p, float *o) {
      float bins[64];
      int i = int(o[0]), kind = p[i].kind;
      bins[p[i].bin] += p[i].w[kind] * weights[kind + 1] * weights[p[i].other + 1];
      o[i] = bins[i % 64];
    })";
  Launch L = launchOf("for (int i = 0; i < n; ++i) h[i].other = rand();", "struct S", Kernel);
  ASSERT_EQ(L.Fills.size(), 1u);
  auto of = [&](uint64_t Offset) {
    auto At = llvm::find_if(L.Fills[0], [&](const Fill &F) { return F.Below && F.tripsAt(Offset); });
    return At == L.Fills[0].end() ? 0 : At->value(*At->tripsAt(Offset));
  };
  EXPECT_EQ(of(32 * 7), 6);     // also of the one behind it, which says less
  EXPECT_EQ(of(32 * 7 + 2), 0); // moved before it is a subscript
  EXPECT_EQ(of(32 * 9 + 4), 64);
  EXPECT_EQ(L.Notes.back(), "integers in 'p.kind', 'p.bin' are any subscripts of the arrays that they are subscripts of");

  L = launchOf("for (int i = 0; i < n; ++i) h[i].bin = i % 3;", "struct S", Kernel);
  EXPECT_EQ(at(L, 32 * 10 + 4), 1); // known
}

TEST(HostFills, ofWhatIsAppended) {
  Launch L = appended(R"(for (int y = 0; y + 1 < n; ++y)
        for (int x = 0; x < 3; ++x) {
          int i = y * 3 + x;
          v.push_back({i, 0, {x, y}});
          Q q = {i + 100, 0, {i, i}};
          v.push_back(q);
        })");
  EXPECT_EQ(at(L, 16 * 2 * (4 * 3 + 2)), 14);
  EXPECT_EQ(at(L, 16 * 2 * (4 * 3 + 2) + 12), 4);
  EXPECT_EQ(at(L, 16 * (2 * (4 * 3 + 2) + 1)), 114);
  EXPECT_EQ(at(L, 16 * (2 * (8 * 3 + 2) + 1)), 126);
  EXPECT_FALSE(at(L, 16 * (2 * 27)));
  const std::string Loop = "for (int i = 0; i < n; ++i) ";
  for (const std::string &Fill : {Loop + "if (i % 2) v.push_back({i, 0, {i, i}});", Loop + "v.push_back({i, 0, {i, i}}); v.push_back({0, 0, {0, 0}});",
                                 Loop + "v.push_back({i, 0, {i, i}}); v[3].next = 1;", std::string("while (n) { v.push_back({--n, 0, {n, n}}); }")})
    EXPECT_TRUE(appended(Fill).Fills.empty()) << Fill;
}

TEST(HostFills, areLeftOutWhereSomethingElseMayWrite) {
  for (const char *Fill : {"for (int i = 0; i < n; ++i) h[i] = atoi(argv[i]);",                       // no bound
                           "for (int i = 0; i < n; ++i) h[i] = i; std::sort(h.begin(), h.end());",    // not followed
                           "for (int i = 0; i < n; ++i) h[i] = i; for (int i = 1; i < n; ++i) h[i] += h[i - 1];",
                           "for (int i = 0; i < n; ++i) h[i] = i; ++h[3];",
                           "for (int i = 0; i < n; ++i) h[h[i]] = i;",                                // no stride
                           "int state = 1; for (int i = 0; i < n; ++i) { state = state * 5 + 1; h[i] = state; }",
                           "for (int i = 0; i < n; ++i) h.push_back(i);",
                           "for (long i = 0; i < 1L << 62; ++i) h[i % n] = 0;", "for (long i = 0; i < n; ++i) h[i << 60] = 0;", "while (n) h[--n] = n;"})
    EXPECT_TRUE(launchOf(Fill).Fills.empty()) << Fill;
}

TEST(HostFills, areLeftOutWhereTheDeviceWrites) {
  const char *Fill = "for (int i = 0; i < n; ++i) h[i] = i;", *Records = "for (int i = 0; i < n; ++i) h[i] = {i, 0, {i, i}};";
  EXPECT_TRUE(launchOf(Fill, "int", "__global__ void k(E *p, float *o) { p[0] = 1; }").Fills.empty());
  EXPECT_TRUE(launchOf(Fill, "int", "__device__ void f(int *p); __global__ void k(E *p, float *o) { f(p); }").Fills.empty());
  EXPECT_FALSE(launchOf(Fill, "int", "__global__ void k(E *p, float *o) { o[0] = p[0]; }").Fills.empty());
  Launch L = launchOf(Records, "Q", "__global__ void k(E *p, float *o) { Q &q = p[0]; q.next = 3; }");
  EXPECT_FALSE(at(L, 16));
  EXPECT_EQ(at(L, 16 + 8), 1);
  EXPECT_TRUE(launchOf(Records, "Q", "__global__ void k(E *p, float *o) { p[1] = p[0]; }").Fills.empty());
  for (const char *Callee : {"__device__ void f(int &v) { v = 3; }", "__host__ __device__ void f(int &v) { v = 3; }"})
    EXPECT_TRUE(launchOf(Fill, "int", std::string(Callee) + " __global__ void k(E *p, float *o) { f(p[1]); }").Fills.empty()) << Callee;
  L = launchOf(Records, "Q", "__host__ __device__ void f(Q &q) { q.next = 3; } __global__ void k(E *p, float *o) { f(p[1]); }");
  EXPECT_FALSE(at(L, 16));
  EXPECT_EQ(at(L, 16 + 8), 1);
}

TEST(HostFills, outliveRecordsThatTheDeviceStoresBack) {
  const char *Fill = "for (int i = 0; i < n; ++i) h[i] = {i, 0, {i, 2 * i}};";
  for (const char *Body : {"Q q = p[i]; q.next = 3; p[i] = q;", "Q *at = &p[i]; Q q = *at; q.next = 3; *at = q;", "const Q q = p[i]; if (q.x > 0) p[i] = q; p[i].next = 2;",
                           "Q q; if (o[1] > 0) q = p[i]; q.next = 1; p[i] = q;"}) {
    Launch L = launchOf(Fill, "Q", std::string("__global__ void k(E *p, float *o) { int i = o[0]; ") + Body + " }");
    EXPECT_EQ(at(L, 16 * 5 + 12), 10) << Body;
    EXPECT_FALSE(at(L, 16 * 5)) << Body;
  }
  for (const char *Body : {"Q q = p[i + 1]; p[i] = q;", "Q q = p[i]; p[i / 2] = q;", "Q q; q.x = 1; p[i] = q;", "Q q = p[i]; q = Q{1, 2, {3, 4}}; p[i] = q;", "Q q; q = p[i]; q = p[0]; p[i] = q;"})
    EXPECT_TRUE(launchOf(Fill, "Q", std::string("__global__ void k(E *p, float *o) { int i = o[0]; ") + Body + " }").Fills.empty()) << Body;
}

TEST(HostFills, ofAFunctionThatFillsTwoArraysAreLeftOut) {
  Program P = programOf(std::string(Head) + R"(
    __global__ void k(const int *p, float *o) { o[0] = p[0]; }
    void clear(int *p, int n) { for (int i = 0; i < n; ++i) p[i] = 0; }
    int main() {
      const int n = 1000;
      int *h = new int[n], *g = new int[n], *d; float *o;
      cudaMalloc((void **)&d, n * sizeof(int));
      cudaMalloc((void **)&o, n * sizeof(float));
      for (int i = 0; i < n; ++i) h[i] = i;
      clear(h, n);
      clear(g, n);
      cudaMemcpy(d, h, n * sizeof(int), cudaMemcpyHostToDevice);
      k<<<4, 256>>>(d, o);
    })");
  ASSERT_EQ(P.Launches.size(), 1u);
  EXPECT_TRUE(P.Launches[0].Fills.empty());
}

TEST(HostFills, takeNoLongerWhereVariablesAreUsedTwice) {
  for (const char *First : {"i", "hash(i)", "n", "hash(n)"}) {
    std::string Doubled = std::string("int v0 = ") + First + ";\n";
    for (unsigned I = 1; I < 60; ++I)
      Doubled += "int v" + std::to_string(I) + " = v" + std::to_string(I - 1) + " + v" + std::to_string(I - 1) + ";\n";
    launchOf("for (int i = 0; i < n; ++i) { " + Doubled + " h[i] = v59 % n; }"); // ends
  }
}

TEST(HostFills, followPointersThroughFunctions) {
  Program P = programOf(std::string(Head) + R"(
    __global__ void k(const int *p, float *o) { o[0] = p[0]; }
    void fill(std::vector<int> &to, int count) { for (int i = 0; i < count; ++i) to[i] = 2 * i; }
    void launch(const int *d, float *o, int times = 2) {
      k<<<4, 256>>>(d, o);
      if (times) {
        launch(d, o, times - 1);
        launch(d, o, times - 1);
      }
    }
    int main() {
      const int n = 1000;
      std::vector<int> h(n);
      int *d; float *o;
      cudaMalloc((void **)&d, n * sizeof(int));
      cudaMalloc((void **)&o, n * sizeof(float));
      fill(h, n);
      cudaMemcpy(d, &h[0], n * sizeof(int), cudaMemcpyHostToDevice);
      launch(d, o);
    })");
  ASSERT_EQ(P.Launches.size(), 1u);
  EXPECT_EQ(at(P.Launches[0], 4 * 21), 42);
}

TEST(HostFills, areBelowWhatTheProgramGivesThem) {
  const std::string Types = R"(
    enum Kind { Idle, Busy, Done };
    struct R { int id; short from, to, len; unsigned char seats; Kind kind; unsigned mixed; };
    typedef R E;
    __device__ unsigned min(unsigned a, unsigned b) { return b < a ? b : a; }
    __device__ unsigned mix(unsigned k) { k ^= k >> 16; k *= 0x7feb352du; return k; }
  )";
  // The number that members lie below, by name; none: nothing is known.
  auto belowIn = [&](const std::string &Body) {
    Program P = programOf(std::string(Head) + Types + R"(
      __device__ int find(const E *p, int id, int n) {
        int lo = 0, hi = n;
        while (lo < hi) {
          int mid = lo + (hi - lo) / 2;
          if (p[mid].id < id) lo = mid + 1; else hi = mid;
        }
        return lo;
      }
      __global__ void k(E *p, unsigned b) {
        E &r = p[b];
        unsigned h = mix(b);
        int len = r.len;
        for (int k = r.from; k < r.to; ++k) r.id = k;
        for (unsigned k = 0; k < r.seats + r.mixed; ++k) r.id = k;
        )" + Body + R"(
      }
      int main(int argc, char **argv) {
        int n = argc > 1 ? atoi(argv[1]) : 1000;
        std::vector<E> h(n);
        for (int i = 0; i < n; ++i) h[i].len = (short)(4 + i % 13);
        E *d;
        cudaMalloc((void **)&d, n * sizeof(E));
        cudaMemcpy(d, h.data(), n * sizeof(E), cudaMemcpyHostToDevice);
        for (unsigned t = 0; t < 10; ++t) k<<<4, 256>>>(d, t);
      })");
    std::map<uint64_t, int64_t> Out;
    EXPECT_EQ(P.Launches.size(), 1u);
    if (!P.Launches.empty() && !P.Launches[0].Fills.empty())
      for (const Fill &F : P.Launches[0].Fills[0])
        if (F.Below)
          Out[F.Begin] = F.value({0});
    return Out;
  };
  constexpr uint64_t From = 4, To = 6, Seats = 10, Mixed = 16;
  auto L = belowIn("r.from = (short)(h % (unsigned)len); r.to = (short)(r.from + 1 + (h >> 11) % (unsigned)(len - r.from)); r.seats = 1 + h % 4;");
  EXPECT_EQ(L[From], 16) << "lengths are 4 to 16";
  EXPECT_EQ(L[To], 16 + 16);
  EXPECT_EQ(L[Seats], 5);
  L = belowIn("r.kind = h & 1 ? Busy : r.kind == Busy ? Done : Idle; r.mixed = h >> 24; r.seats = min(h, 9u);");
  EXPECT_EQ(L.size(), 2u) << "no loop goes up to kinds";
  EXPECT_EQ(L[Mixed], 256);
  EXPECT_EQ(L[Seats], 10);
  // What grows, is as large as it may be, or is changed in another way.
  L = belowIn("r.from = h; r.to = r.to + 1; ++r.seats; r.mixed = h;");
  EXPECT_TRUE(L.empty());
  L = belowIn("r.seats = find(p, r.id, 9);");
  EXPECT_TRUE(L.empty()) << "it may be any place that a search finds";
}

TEST(HostFills, ofPointersInStructs) {
  auto launchWith = [](const std::string &Make, const std::string &Body = "") {
    Program P = programOf(std::string(Head) + R"(
      struct Around { float *values; };
      struct Mesh { int count; Q *faces; Around around; const int *order; };
      __global__ void k(float x, Mesh m) { )" + Body + R"( }
      int main() {
        const int n = 1000;
        std::vector<Q> h(n);
        std::vector<int> order(n);
        for (int i = 0; i < n; ++i) { h[i] = {3 * i, 0, {i, i}}; order[i] = n - i; }
        Mesh m;
        )" + Make + R"(
        k<<<4, 256>>>(1, m);
      })");
    EXPECT_EQ(P.Launches.size(), 1u);
    return P.Launches.empty() ? Launch() : P.Launches[0];
  };
  Launch L = launchWith(R"(
        cudaMalloc((void **)&m.faces, n * sizeof(Q));
        cudaMemcpy(m.faces, h.data(), n * sizeof(Q), cudaMemcpyHostToDevice);
        int *d;
        cudaMalloc((void **)&d, n * sizeof(int));
        cudaMemcpy(d, order.data(), n * sizeof(int), cudaMemcpyHostToDevice);
        m.order = d;)");
  EXPECT_EQ(at(L, 16 * 7, 1, 2), 21);
  EXPECT_EQ(at(L, 4 * 7, 1, 4), 993);
  EXPECT_FALSE(at(L, 4 * 7, 1, 3));
  EXPECT_EQ(L.Notes.back(), "integers of 'faces', 'order' are as the host writes them");
  const std::string Faces = "Q *d; cudaMalloc((void **)&d, n * sizeof(Q)); cudaMemcpy(d, h.data(), n * sizeof(Q), cudaMemcpyHostToDevice); ";
  EXPECT_EQ(at(launchWith(Faces + "m = Mesh{n, d, {nullptr}, nullptr};"), 16 * 7, 1, 2), 21);
  EXPECT_FALSE(at(launchWith(Faces + "m.faces = d;", "m.faces[3].next = 1;"), 16 * 7, 1, 2));
  EXPECT_FALSE(at(launchWith(Faces + "Q *other; cudaMalloc((void **)&other, n * sizeof(Q)); m.faces = d; m.faces = other;"), 16 * 7, 1, 2)) << "two arrays";
}

TEST(HostFills, followWhatFunctionsCopyForTheirCallers) {
  Program P = programOf(std::string(Head) + R"(
    __global__ void k(const int *p, const int *q, float *o) { o[0] = p[q[0]]; }
    template <class T> T *upload(const std::vector<T> &v) {
      T *d;
      cudaMalloc((void **)&d, v.size() * sizeof(T));
      cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
      return d;
    }
    int main() {
      const int n = 1000;
      std::vector<int> a(n), b(n);
      for (int i = 0; i < n; ++i) a[i] = 2 * i;
      for (int i = 0; i < n; ++i) b[i] = 3 * i;
      int *d_a = upload(a), *d_b = upload(b);
      float *o;
      cudaMalloc((void **)&o, n * sizeof(float));
      k<<<4, 256>>>(d_a, d_b, o);
    })");
  ASSERT_EQ(P.Launches.size(), 1u);
  EXPECT_EQ(at(P.Launches[0], 4 * 21), 42);
  EXPECT_EQ(at(P.Launches[0], 4 * 21, 1), 63);
}

TEST(HostFills, ofCountsThatKernelsChange) {
  auto counts = [](const std::string &Fill, const std::string &Kernel) {
    return launchOf(Fill, "struct { int first, count; float sum; }", "__global__ void k(E *p, float *o) { " + Kernel + " }");
  };
  const std::string Down = "E &e = p[3]; int m = e.count; for (int i = m - 1; i >= 0; --i) e.sum += o[i]; e.count = m - 1;";
  Launch L = counts("for (int i = 0; i < n; ++i) { E e{}; e.count = 4 + rand() % 3; h[i] = e; }", Down);
  ASSERT_TRUE(at(L, 12 * 7 + 4));
  EXPECT_TRUE(*at(L, 12 * 7 + 4) >= 4 && *at(L, 12 * 7 + 4) <= 6);
  EXPECT_EQ(L.Notes.back(), "integers in 'p.count' are as the host begins with them in most records, or in half of them where that is negative, though kernels change some");
  L = counts("for (int i = 0; i < n; ++i) { h[i].count = 5; }", "E &e = p[3]; for (int i = 0; i < e.count; ++i) e.sum += o[i]; o[e.count - 1] = 0; e.count = 7;");
  EXPECT_EQ(at(L, 12 * 7 + 4), 5) << "also one that is a subscript";
  EXPECT_FALSE(at(counts("for (int i = 0; i < n; ++i) { h[i].count = 0; }", Down), 12 * 7 + 4)) << "kernels count them up";
  EXPECT_FALSE(at(counts("for (int i = 0; i < n; ++i) { h[i].count = rand(); }", Down), 12 * 7 + 4));
  EXPECT_FALSE(at(counts("for (int i = 0; i < n; ++i) { h[i].count = 5; h[i].count += i; }", Down), 12 * 7 + 4));
}

TEST(HostFills, followWhatFunctionsMakeForTheirCallers) {
  auto launchWith = [](const std::string &Functions, const std::string &Make) {
    Program P = programOf(Head + Functions + R"(
      __global__ void k(const int *p, const Q *q, float *o) { o[0] = q[p[0]].next; }
      int main() {
        const int n = 1000;
        std::vector<int> a(n);
        std::vector<Q> b(n);
        )" + Make + R"(
        int *d_a;
        Q *d_b;
        float *o;
        cudaMalloc((void **)&d_a, n * sizeof(int));
        cudaMalloc((void **)&d_b, n * sizeof(Q));
        cudaMalloc((void **)&o, n * sizeof(float));
        cudaMemcpy(d_a, a.data(), n * sizeof(int), cudaMemcpyHostToDevice);
        cudaMemcpy(d_b, b.data(), n * sizeof(Q), cudaMemcpyHostToDevice);
        k<<<4, 256>>>(d_a, d_b, o);
      })");
    EXPECT_EQ(P.Launches.size(), 1u);
    return P.Launches.empty() ? Launch() : P.Launches[0];
  };
  const std::string Functions = R"(
      std::vector<int> twice(int n) { std::vector<int> v(n); for (int i = 0; i < n; ++i) v[i] = 2 * i; return v; }
      struct Maker {
        int n;
        std::vector<Q> records() const { std::vector<Q> v; for (int i = 0; i < n; ++i) { Q q; q.next = 3 * i; v.push_back(q); } return v; }
      };)";
  Launch L = launchWith(Functions, "a = twice(n); Maker m{n}; b = m.records();");
  EXPECT_EQ(at(L, 4 * 21), 42);
  EXPECT_EQ(at(L, 16 * 21, 1), 63);
  L = launchWith(Functions, "std::vector<int> first = twice(n); auto other = first; a = other; a[n - 1] = 5;");
  EXPECT_EQ(at(L, 4 * 21), 42);
  L = launchWith(Functions, "std::vector<int> c = twice(n); for (int i = 0; i < n; ++i) c[i] = 7; a = twice(n);");
  EXPECT_EQ(at(L, 4 * 21), 42) << "another array is changed";
  L = launchWith(Functions, "auto make = [&] { std::vector<int> v(n); for (int i = 0; i < n; ++i) v[i] = n - i; return v; }; a = make();");
  EXPECT_EQ(at(L, 4 * 21), 979);
  // What is made in another way, or exchanged by anybody, is not known.
  EXPECT_FALSE(at(launchWith("std::vector<int> make(int n);", "a = make(n);"), 4 * 21));
  L = launchWith("std::vector<int> made(int n) { std::vector<int> v(n); for (int i = 0; i < n; ++i) v[i] = i; for (int i = 1; i < n; ++i) std::swap(v[i], v[i / 2]); return v; }",
                 "a = made(n);");
  ASSERT_FALSE(L.Fills.empty());
  ASSERT_FALSE(L.Fills[0].empty());
  EXPECT_TRUE(L.Fills[0][0].Shuffled);
}

TEST(HostFills, ofManagedMemoryThatFunctionsMake) {
  Program P = programOf(std::string(Head) + R"(
    extern "C" cudaError_t cudaMallocManaged(void **, size_t, unsigned = 1);
    __global__ void k(const Q *q, float *o) { o[0] = q[0].next; }
    Q *make(int n) {
      Q *q;
      cudaMallocManaged((void **)&q, n * sizeof(Q));
      for (int i = 0; i < n; ++i) q[i].next = 3 * i;
      return q;
    }
    int main() {
      const int n = 1000;
      Q *q = make(n);
      float *o;
      cudaMalloc((void **)&o, n * sizeof(float));
      k<<<4, 256>>>(q, o);
    })");
  ASSERT_EQ(P.Launches.size(), 1u);
  EXPECT_EQ(at(P.Launches[0], 16 * 21), 63);
}

TEST(HostFills, ofRecordsThatFunctionsMake) {
  auto launchWith = [](const std::string &Make, const std::string &Fill) {
    Program P = programOf(std::string(Head) + Make + R"(
      __global__ void k(const Q *q, float *o, int n) { o[n] = q[q[n].next].x; }
      int main() {
        const int n = 1000;
        std::vector<Q> h;
        )" + Fill + R"(
        Q *d;
        float *o;
        cudaMalloc((void **)&d, n * sizeof(Q));
        cudaMalloc((void **)&o, n * sizeof(float));
        cudaMemcpy(d, h.data(), n * sizeof(Q), cudaMemcpyHostToDevice);
        k<<<4, 256>>>(d, o, n);
      })");
    EXPECT_EQ(P.Launches.size(), 1u);
    return P.Launches.empty() ? Launch() : P.Launches[0];
  };
  const std::string Fill = "for (int i = 0; i < n; ++i) h.push_back(made(i, n));";
  EXPECT_EQ(at(launchWith("Q made(int i, int n) { Q q; q.x = 1; q.next = i + n / 2; return q; }", Fill), 16 * 21), 521);
  EXPECT_EQ(at(launchWith("Q made(int i, int n) { const int half = n / 2; return {i + half, 1, {0, 0}}; }", Fill), 16 * 21), 521);
  EXPECT_EQ(at(launchWith("struct Maker { int by; Q made(int i) const { return Q{i * by, 1, {0, 0}}; } };",
                          "h = std::vector<Q>(n); Maker m{3}; for (int i = 0; i < n; ++i) h[i] = m.made(i + 1);"), 16 * 21), 66);
  Launch L = launchWith("Q made(int i, int n) { Q q; q.x = 1; q.next = rand() % n; return q; }", Fill);
  ASSERT_FALSE(L.Fills.empty());
  EXPECT_TRUE(L.Fills[0][0].Scattered);
  L = launchWith("Q made(int i, int n) { Q q; q.next = i; if (i % 7 == 0) q.next = 0; return q; }", Fill);
  EXPECT_EQ(at(L, 16 * 21), 21) << "under a condition";
  EXPECT_FALSE(at(launchWith("Q made(int i, int n);", Fill), 16 * 21));
}

TEST(HostFills, drawOnceForTheTripsOfInnerLoops) {
  const Launch L = launchOf("for (int i = 0; i < n; i += 8) { const int start = rand() % 900; for (int k = 0; k < 8; ++k) h[i + k] = start + k; }");
  std::set<int64_t> Starts;
  for (int I = 0; I < 1000; I += 8) {
    const std::optional<int64_t> Start = at(L, 4 * I);
    ASSERT_TRUE(Start);
    Starts.insert(*Start);
    for (int K = 1; K < 8; ++K)
      EXPECT_EQ(at(L, 4 * (I + K)), *Start + K);
  }
  EXPECT_GT(Starts.size(), 60u);
}

TEST(HostFills, followVariablesThatBranchesChange) {
  const Launch L = launchOf(R"(for (int i = 0; i < n; ++i) {
      int j;
      if (i % 10 == 0)
        j = 5 * i;
      else
        j = i - 8;
      if (j < 0) j += n;
      if (j >= n) { j -= n; ++j; }
      h[i] = j;
    })");
  EXPECT_EQ(at(L, 4 * 10), 50);
  EXPECT_EQ(at(L, 4 * 13), 5);
  EXPECT_EQ(at(L, 4 * 3), 995);
  EXPECT_EQ(at(L, 4 * 210), 51);
  // Where a loop changes it, or a call may, it is not known.
  EXPECT_FALSE(at(launchOf("for (int i = 0; i < n; ++i) { int j = i; while (j > 100) j -= 7; h[i] = j; }"), 4 * 500));
  EXPECT_FALSE(at(launchOf("auto change = [](int &j) { j = rand(); }; for (int i = 0; i < n; ++i) { int j = i; change(j); h[i] = j; }"), 4 * 500));
}

TEST(HostFills, ofContainersThatAreMembersAndGrowByDrawnNumbers) {
  const Program P = programOf(std::string(Head) + R"(struct L { int to; float w; };
    __global__ void k(const Q *q, const L *l, float *o) { o[0] = q[l[1].to].x; }
    class Graph {
    public:
      Graph(int n) {
        for (int i = 0; i < n; ++i) {
          const int degree = 4 + rand() % 5;
          for (int e = 0; e < degree; ++e)
            links.push_back(L{(i + 1 + rand() % 3) % n, 1.f});
        }
        cudaMalloc((void **)&q, n * sizeof(Q));
        cudaMalloc((void **)&d, links.size() * sizeof(L));
        cudaMemcpy(d, links.data(), links.size() * sizeof(L), cudaMemcpyHostToDevice);
      }
      void run(float *o) { k<<<4, 256>>>(q, d, o); }
    private:
      std::vector<L> links;
      Q *q;
      L *d;
    };
    int main() { float *o; cudaMalloc((void **)&o, 4096); Graph g(1000); g.run(o); })");
  ASSERT_EQ(P.Launches.size(), 1u);
  const Launch &L = P.Launches[0];
  for (int I : {10, 500, 990}) // six links each
    for (int E = 0; E < 6; ++E) {
      const std::optional<int64_t> To = at(L, 8 * (6 * I + E), 1);
      ASSERT_TRUE(To);
      EXPECT_GT(*To, I);
      EXPECT_LE(*To, I + 3);
    }
}
