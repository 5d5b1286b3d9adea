// Every layout of the catalogue, over records of many shapes: each byte of each
// leaf of each element has one place of its own, in bounds and aligned.

#include "layouts/Layout.h"

#include <gtest/gtest.h>

#include <map>

using namespace restride;

namespace {

Field scalar(std::string Name, std::string Type, uint64_t Offset, uint64_t Size) {
  Field F;
  F.Name = std::move(Name);
  F.Type = std::move(Type);
  F.Offset = Offset;
  F.Size = F.Align = Size;
  return F;
}

Field array(Field F, std::vector<uint64_t> Extents, bool KeepWhole = false) {
  F.Extents = std::move(Extents);
  F.Size *= F.arrayElements();
  F.KeepWhole = KeepWhole;
  return F;
}

Record record(std::string Name, uint64_t Size, uint64_t Align, std::vector<Field> Fields) {
  return {std::move(Name), Size, Align, std::move(Fields)};
}

std::vector<Record> shapes() {
  Field Vec = scalar("pos", "Vec3", 0, 4);
  Vec.Size = 12;
  Vec.Members = {scalar("x", "float", 0, 4), scalar("y", "float", 4, 4), scalar("z", "float", 8, 4)};
  Field Pair = Vec;
  Pair.Name = "ends";
  Pair.Offset = 16;
  Pair.Size = 24;
  Pair.Extents = {2};
  Field Quad = scalar("q", "float4", 32, 16);
  return {
      record("Pixel", 3, 1, {scalar("r", "unsigned char", 0, 1), scalar("g", "unsigned char", 1, 1), scalar("b", "unsigned char", 2, 1)}),
      record("Padded", 24, 8, {scalar("x", "double", 0, 8), scalar("v", "double", 8, 8), scalar("alive", "bool", 16, 1)}),
      record("Mixed", 16, 8, {scalar("c", "char", 0, 1), scalar("s", "short", 2, 2), scalar("i", "int", 4, 4), scalar("p", "int *", 8, 8)}),
      record("Cell", 40, 4, {array(scalar("f", "float", 0, 4), {9}), scalar("solid", "int", 36, 4)}),
      record("Matrix", 28, 4, {array(scalar("m", "float", 0, 4), {2, 3}), scalar("det", "float", 24, 4)}),
      record("Whole", 20, 4, {array(scalar("v", "float", 0, 4), {4}, true), scalar("w", "float", 16, 4)}),
      record("Nested", 40, 4, {Vec, scalar("mass", "float", 12, 4), Pair}),
      record("Vector", 48, 16, {array(scalar("d", "double", 0, 8), {4}), Quad}),
  };
}

struct Span {
  uint64_t End;
  std::string What;
};

} // namespace

TEST(Placement, isABijectionInBoundsAndAligned) {
  for (const Layout *L : catalogue())
    for (const Record &R : shapes())
      for (uint64_t Count : {1u, 7u, 31u, 32u, 33u, 128u, 300u}) {
        std::map<uint64_t, Span> Taken; // by first byte
        uint64_t Bytes = L->allocationBytes(R, Count);
        for (uint64_t I = 0; I < Count; ++I)
          for (const Leaf &One : leaves(R)) {
            std::string What = R.Name + One.Path + " of " + std::to_string(I) + " in " + L->name().str();
            uint64_t At = L->offsetOf(R, One, I, Count);
            ASSERT_LE(At + One.Size, Bytes) << What;
            ASSERT_EQ(At % One.Align, 0u) << What;
            auto [Place, New] = Taken.insert({At, {At + One.Size, What}});
            ASSERT_TRUE(New) << What << " lies where " << Place->second.What << " begins";
            if (Place != Taken.begin())
              ASSERT_LE(std::prev(Place)->second.End, At) << What << " overlaps " << std::prev(Place)->second.What;
            if (std::next(Place) != Taken.end())
              ASSERT_LE(At + One.Size, std::next(Place)->first) << What << " overlaps " << std::next(Place)->second.What;
          }
      }
}

TEST(Placement, isWhatTheNameSays) {
  Record R = shapes()[0];
  std::vector<Leaf> All = leaves(R);
  EXPECT_EQ(findLayout("aos")->offsetOf(R, All[1], 5, 100), 16u);
  EXPECT_EQ(findLayout("aos-align8")->offsetOf(R, All[1], 5, 100), 41u);
  EXPECT_EQ(findLayout("aos-align16")->offsetOf(R, All[2], 1, 100), 18u);
  EXPECT_EQ(findLayout("soa")->offsetOf(R, All[1], 5, 100), 256u + 5);
  EXPECT_EQ(findLayout("asta32")->offsetOf(R, All[1], 33, 100), 96u + 32 + 1);
}

TEST(Leaves, splitWhatIsNotKeptWhole) {
  std::vector<std::string> Paths;
  for (const Record &R : shapes())
    if (R.Name == "Matrix" || R.Name == "Whole" || R.Name == "Nested")
      for (const Leaf &One : leaves(R))
        Paths.push_back(One.Path + One.Extents);
  EXPECT_EQ(Paths, (std::vector<std::string>{".m[0][0]", ".m[0][1]", ".m[0][2]", ".m[1][0]", ".m[1][1]", ".m[1][2]", ".det",
                                             ".v[4]", ".w", ".pos.x", ".pos.y", ".pos.z", ".mass", ".ends[0].x", ".ends[0].y",
                                             ".ends[0].z", ".ends[1].x", ".ends[1].y", ".ends[1].z"}));
}

TEST(Definitions, haveTheRecordsShape) {
  Record R = shapes()[6];
  EXPECT_EQ(findLayout("soa")->definition(R, "NestedSoA"),
            "// restride: Nested as a structure of arrays: one array per field, all in one allocation.\n"
            "struct NestedSoA {\n"
            "  struct {\n"
            "    float *x, *y, *z;\n"
            "  } pos;\n"
            "  float *mass;\n"
            "  struct {\n"
            "    float *x, *y, *z;\n"
            "  } ends[2];\n"
            "};\n");
  EXPECT_EQ(findLayout("asta32")->definition(shapes()[5], "WholeTile32"),
            "// restride: Whole in tiles of 32 elements: element i is entry i % 32 of tile i / 32.\n"
            "struct WholeTile32 {\n"
            "  float v[32][4], w[32];\n"
            "};\n");
  EXPECT_EQ(findLayout("aos-align16")->definition(R, "NestedAlign16"),
            "// restride: Nested on the device, aligned so that neighbouring fields load together.\n"
            "struct __align__(16) NestedAlign16 : Nested {};\n");
}

TEST(Definitions, aPointerFieldHasALineOfItsOwn) {
  Record R = record("Links", 16, 8, {scalar("a", "int *", 0, 8), scalar("b", "int *", 8, 8)});
  EXPECT_NE(findLayout("soa")->definition(R, "L").find("  int * *a;\n  int * *b;\n"), std::string::npos);
}

TEST(Access, expandsItsPattern) {
  EXPECT_EQ(expandAccess(findLayout("soa")->accessPattern(), "p", "i", ".x"), "p.x[i]");
  EXPECT_EQ(expandAccess(findLayout("asta128")->accessPattern(), "p", "i", ".x"), "p[i >> 7].x[i & 127]");
  EXPECT_EQ(expandAccess(findLayout("aos")->accessPattern(), "p", "i", ".x"), "p[i].x");
}

TEST(Catalogue, beginsWithTheOriginal) {
  EXPECT_EQ(catalogue().front()->name(), "aos");
  EXPECT_EQ(findLayout("no such layout"), nullptr);
}

TEST(Objections, nameTheRecord) {
  EXPECT_EQ(findLayout("aos-align8")->objection(shapes()[1]), "'Padded' is aligned to 8 bytes already");
  EXPECT_EQ(findLayout("aos-align16")->objection(shapes()[1]), std::nullopt);
  Record One = record("One", 4, 4, {scalar("x", "float", 0, 4)});
  EXPECT_TRUE(findLayout("soa")->objection(One).has_value());
}
