#include "rewriter/write/HelperCode.h"

#include "tests/layouts/Shapes.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

std::string handle(std::string Record, std::vector<std::string> Taken = {}) {
  restride::Record R = shapes::pair();
  R.Name = std::move(Record);
  return handleName(R, *findLayout("soa"), Taken);
}

std::string code(const Record &R, llvm::StringRef Layout, const HelperNeeds &Needs) {
  return helperCode(R, *findLayout(Layout), "H", Needs);
}

bool contains(llvm::StringRef Text, llvm::StringRef Part) { return Text.contains(Part); }

TEST(HandleName, followsTheRecord) {
  EXPECT_EQ(handle("Particle"), "ParticleSoA");
  EXPECT_EQ(handle("particle"), "particle_soa");
  EXPECT_EQ(handle("geo::Vec"), "VecSoA");
}

TEST(HandleName, isFree) {
  EXPECT_EQ(handle("P", {"P", "PSoA"}), "PSoA2");
  EXPECT_EQ(handle("P", {"P", "PSoA", "PSoA2_malloc"}), "PSoA3");
}

TEST(HelperCode, isOnlyWhatIsNeeded) {
  EXPECT_EQ(code(shapes::pair(), "soa", {}), "\n" + findLayout("soa")->definition(shapes::pair(), "H") + "static_assert(sizeof(Pair) == 8, \"H has the fields of Pair\");\n");
  HelperNeeds Needs;
  Needs.Release = {HostCall::Free};
  std::string Text = code(shapes::pair(), "soa", Needs);
  EXPECT_TRUE(contains(Text, "H_free(H p)")) << Text;
  EXPECT_FALSE(contains(Text, "malloc")) << Text;
}

TEST(HelperCode, loadsAndStoresEveryLeaf) {
  HelperNeeds Needs;
  Needs.Load = Needs.Store = true;
  std::string Text = code(shapes::nested(), "asta32", Needs);
  EXPECT_TRUE(contains(Text, "r.pos.x = p[i >> 5].pos.x[i & 31];")) << Text;
  EXPECT_TRUE(contains(Text, "r.vel[j].y = p[i >> 5].vel[j].y[i & 31];")) << Text;
  EXPECT_TRUE(contains(Text, "p[i >> 5].color[i & 31] = r.color;")) << Text;
  Text = code(shapes::arrays(), "soa", Needs);
  EXPECT_TRUE(contains(Text, "r.m[j][k] = p.m[j][k][i];")) << Text;
  EXPECT_TRUE(contains(Text, "  p.whole[i][0] = r.whole[0];\n  p.whole[i][1] = r.whole[1];\n")) << Text;
  EXPECT_TRUE(contains(Text, "  r.v[0] = p.v[0][i];\n  r.v[1] = p.v[1][i];\n")) << Text;
  Record Long = shapes::arrays();
  Long.Fields[0].Extents = {9};
  EXPECT_TRUE(contains(code(Long, "soa", Needs), "  for (int j = 0; j < 9; ++j)\n    r.v[j] = p.v[j][i];\n"));
}

TEST(HelperCode, runsNoConstructor) {
  HelperNeeds Needs;
  Needs.Load = true;
  Record R = shapes::pair();
  EXPECT_TRUE(contains(code(R, "soa", Needs), ") {\n  Pair r;\n  r.x = p.x[i];\n"));
  R.TrivialDefault = false;
  EXPECT_TRUE(contains(code(R, "soa", Needs), "  Pair &r = raw.r;\n  r.x = p.x[i];\n"));
}

TEST(HelperCode, storesANestedRecord) {
  HelperNeeds Needs;
  Needs.PartStores = {{"pos"}};
  std::string Text = code(shapes::nested(), "soa", Needs);
  EXPECT_TRUE(contains(Text, "H_store_pos(H p, ptrdiff_t i, const Vec &r)")) << Text;
  EXPECT_TRUE(contains(Text, "p.pos.y[i] = r.y;")) << Text;
}

TEST(HelperCode, allocatesAWholeNumberOfTiles) {
  HelperNeeds Needs;
  Needs.Allocate = {HostCall::Malloc};
  std::string Text = code(shapes::pair(), "asta32", Needs);
  EXPECT_TRUE(contains(Text, "(n + 31) / 32 * sizeof(H)")) << Text;
}

// A program may have an error pending that it does not care about, such as
// cudaErrorPeerAccessAlreadyEnabled: it is neither ours to report nor to clear.
TEST(HelperCode, leavesPendingErrorsAlone) {
  HelperNeeds Needs;
  Needs.In = Needs.Out = Needs.Within = {HostCall::Memcpy, HostCall::MemcpyAsync};
  Needs.Fill = {HostCall::Memset};
  Needs.OutAt = true;
  std::string Text = code(shapes::pair(), "soa", Needs);
  EXPECT_FALSE(contains(Text, "LastError")) << Text;
  EXPECT_TRUE(contains(Text, "void *args[] = {&staging, &src, &first, &n};")) << Text;
  EXPECT_TRUE(contains(Text, "e = cudaLaunchKernel((const void *)H_gather, dim3((n + 255) / 256), dim3(256), args, 0, stream);")) << Text;
}

TEST(HelperCode, shiftsEveryPointer) {
  HelperNeeds Needs;
  Needs.Shift = true;
  std::string Text = code(shapes::nested(), "soa", Needs);
  EXPECT_TRUE(contains(Text, "p.vel[1].y += i;")) << Text;
}

TEST(HelperCode, movesMemberArraysByTheirFirst) {
  HelperNeeds Needs;
  Needs.Shift = true;
  Needs.Allocate = {HostCall::Malloc};
  Needs.Release = {HostCall::Free};
  std::string Text = code(shapes::arrays(), "soa", Needs);
  EXPECT_TRUE(contains(Text, "  p.v.base += i;\n  p.m.base += i;\n  p.whole += i;\n")) << Text;
  EXPECT_TRUE(contains(Text, "  p->v.base = (float *)base;\n  p->v.pitch = n;\n  p->m.base = (int *)(base + n * 12);\n  p->m.pitch = n;\n"
                             "  p->whole = (double (*)[5])(base + n * 28);\n"))
      << Text;
  EXPECT_TRUE(contains(Text, "cudaFree((void *)p.v.base)")) << Text;
}

// A run of elements that begins within a tile touches the tile that it ends in, too.
TEST(HelperCode, hintsReachAllTilesOfARun) {
  HelperNeeds Needs;
  Needs.Hints = {HostCall::Advise};
  Needs.HintAt = true;
  EXPECT_TRUE(contains(code(shapes::pair(), "asta32", Needs), "return cudaMemAdvise(p + first / 32, (first % 32 + n + 31) / 32 * sizeof(H), rest...);"));
  EXPECT_TRUE(contains(code(shapes::pair(), "soa", Needs), "cudaMemAdvise(p.x + first, n * 4, rest...);"));
}

TEST(HelperCode, isReadByACompilerWithoutCuda) {
  HelperNeeds Needs;
  Needs.ForHost = true;
  std::string Text = code(shapes::arrays(), "soa", Needs);
  EXPECT_TRUE(contains(Text, "    #ifdef __CUDACC__\n    __host__ __device__\n    #endif\n    float *operator[]")) << Text;
}

TEST(HelperCode, knowsItsOwnWords) {
  EXPECT_TRUE(isHelperWord("n"));
  EXPECT_TRUE(isHelperWord("staging"));
  EXPECT_FALSE(isHelperWord("Particle"));
  EXPECT_FALSE(isHelperWord("particle"));
}

} // namespace
} // namespace restride
