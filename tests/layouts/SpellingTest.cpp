// What a layout looks like in C++: the definition of its handle, and an access.
#include "layouts/Grouped.h"
#include "tests/layouts/Shapes.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

/// The definition without the comment above it.
std::string definition(llvm::StringRef Name, const Record &R, llvm::StringRef Handle) {
  std::string Text = findLayout(Name)->definition(R, Handle);
  EXPECT_TRUE(llvm::StringRef(Text).starts_with(GeneratedMark)) << Text;
  return Text.substr(Text.find('\n') + 1);
}

std::string access(llvm::StringRef Name, llvm::StringRef Path) {
  return expandAccess(findLayout(Name)->accessPattern(Path), "p", "i", Path);
}

TEST(Spelling, ofAccesses) {
  EXPECT_EQ(access("aos", ".x"), "p[i].x");
  EXPECT_EQ(access("aos-align16", ".pos.x"), "p[i].pos.x");
  EXPECT_EQ(access("soa", ".v[2]"), "p.v[2][i]");
  EXPECT_EQ(access("asta8", ".x"), "p[i >> 3].x[i & 7]");
  EXPECT_EQ(access("asta128", ".pos.x"), "p[i >> 7].pos.x[i & 127]");
}

TEST(Spelling, ofAStructureOfArrays) {
  EXPECT_EQ(definition("soa", shapes::pair(), "PairSoA"), "struct PairSoA {\n  float *x, *y;\n};\n");
  EXPECT_EQ(definition("soa", shapes::arrays(), "S"),
            "struct S {\n"
            "  struct {\n"
            "    float *base;\n"
            "    long long pitch; // elements from one array to the next\n"
            "    __host__ __device__ float *operator[](long long k) const { return base + k * pitch; }\n"
            "  } v;\n"
            "  struct {\n"
            "    int *base;\n"
            "    long long pitch; // elements from one array to the next\n"
            "    struct Row {\n"
            "      int *base;\n"
            "      long long pitch; // elements from one array to the next\n"
            "      __host__ __device__ int *operator[](long long k) const { return base + k * pitch; }\n"
            "    };\n"
            "    __host__ __device__ Row operator[](long long k) const { return {base + k * 2 * pitch, pitch}; }\n"
            "  } m;\n"
            "  double (*whole)[5];\n};\n");
  EXPECT_EQ(definition("soa", shapes::nested(), "S"),
            "struct S {\n  struct {\n    float *x, *y;\n  } pos;\n  struct {\n    float *x, *y;\n  } vel[2];\n"
            "  float4 *color;\n  int *n;\n};\n");
}

TEST(Spelling, ofRowsBesideTheProgramsOwn) {
  Record R{"P", 20, 4, {shapes::array("m", "geo::Row", 0, 4, {2, 2}), shapes::scalar("n", "int", 16, 4)}};
  EXPECT_NE(definition("soa", R, "S").find("struct Row_ {\n      geo::Row *base;"), std::string::npos) << definition("soa", R, "S");
}

TEST(Spelling, ofTiles) {
  EXPECT_EQ(definition("asta32", shapes::padded(), "T"),
            "struct T {\n  char c[32];\n  double d[32];\n  short s[32];\n};\n");
  EXPECT_EQ(definition("asta8", shapes::arrays(), "T"),
            "struct T {\n  float v[3][8];\n  int m[2][2][8];\n  double whole[8][5];\n};\n");
}

TEST(Spelling, ofAnAlignedTwin) {
  EXPECT_EQ(definition("aos-align16", shapes::pair(), "PairAlign16"),
            "struct __align__(16) PairAlign16 : Pair {};\n");
}

TEST(Spelling, ofGroups) {
  Record R = shapes::nested();
  const Layout &L = groupedLayout(R, {{"pos", "n"}, {"vel"}, {"color"}});
  std::string Text = L.definition(R, "G");
  EXPECT_NE(Text.find(" G_g0 {\n  Vec pos;\n  int n;\n};"), std::string::npos) << Text;
  EXPECT_NE(Text.find(" G_g1 {\n  Vec vel[2];\n};"), std::string::npos) << Text;
  EXPECT_NE(Text.find("struct G {\n  G_g0 *g0;\n  G_g1 *g1;\n  float4 *color;\n};"), std::string::npos) << Text;
  EXPECT_EQ(expandAccess(L.accessPattern(".vel"), "p", "i", ".vel[1].x"), "p.g1[i].vel[1].x");
  EXPECT_EQ(expandAccess(L.accessPattern(".color"), "p", "i", ".color"), "p.color[i]");
}

TEST(Spelling, ofPointersNeedsALineEach) {
  Record R{"Strings", 16, 8, {shapes::scalar("a", "char *", 0, 8), shapes::scalar("b", "char *", 8, 8)}};
  std::string Text = definition("asta8", R, "T");
  EXPECT_NE(Text.find("a[8];"), std::string::npos) << Text;
  EXPECT_NE(Text.find("b[8];"), std::string::npos) << Text;
}

TEST(Catalogue, namesAreUnique) {
  EXPECT_EQ(catalogue().front()->name(), "aos");
  for (const Layout *L : catalogue())
    EXPECT_EQ(findLayout(L->name()), L);
  EXPECT_EQ(findLayout("oas"), nullptr);
}

TEST(Catalogue, refusesWhatWouldNotHelp) {
  Record One{"One", 4, 4, {shapes::scalar("x", "float", 0, 4)}};
  EXPECT_TRUE(findLayout("soa")->objection(One));
  Record Many{"Many", 0, 4, {}};
  for (int I = 0; I < 200; ++I)
    Many.Fields.push_back(shapes::scalar("f" + std::to_string(I), "float", 4 * I, 4));
  Many.Size = 800;
  EXPECT_TRUE(findLayout("soa")->objection(Many));
}

} // namespace
} // namespace restride
