#include "rewriter/decide/StructPlaces.h"

#include <gtest/gtest.h>

using namespace restride;

namespace {

/// struct { int n; P *p; int m; Q *other; } with n = 3 and m = 4, where P has two floats.
KnownObject source() {
  KnownObject O;
  O.Bytes.assign(32, std::nullopt);
  for (unsigned I = 0; I < 4; ++I) {
    O.Bytes[I] = I == 0 ? 3 : 0;
    O.Bytes[16 + I] = I == 0 ? 4 : 0;
  }
  O.Head = 8;
  O.Tail = 24;
  return O;
}

Program program() {
  Candidate C;
  C.Type.Name = "P";
  C.Type.Size = 8;
  C.Type.Align = 4;
  for (const char *Name : {"x", "y"}) {
    Field F;
    F.Name = Name;
    F.Type = "float";
    F.Size = F.Align = 4;
    F.Offset = Name[0] == 'x' ? 0 : 4;
    C.Type.Fields.push_back(F);
  }
  C.Elements.Count = 100;
  Program P;
  P.Candidates.push_back(C);
  return P;
}

const Layout *layout(llvm::StringRef Name) {
  for (const Layout *L : catalogue())
    if (L->name() == Name)
      return L;
  return nullptr;
}

} // namespace

TEST(StructPlaces, followTheLayoutOfTheArraysInside) {
  const Program P = program();
  for (const char *Name : {"aos", "soa", "asta32"}) {
    const unsigned Pointers = llvm::StringRef(Name) == "soa" ? 2 : 1;
    const auto [Object, Places] = structPlaces(source(), {{8, 0}}, P, {layout(Name)}, 0);
    ASSERT_EQ(Places.size(), 3 + Pointers) << Name;
    const uint64_t Size = Object.Bytes.size();
    EXPECT_EQ(Size, 24 + 8 * Pointers);
    EXPECT_EQ(Object.word(0, 4, Size), 3u);
    EXPECT_EQ(Object.word(8, 8, Size), std::nullopt);
    EXPECT_EQ(Object.word(8 + 8 * Pointers, 4, Size), 4u) << Name;
    for (unsigned Word = 0; Word < Pointers; ++Word) {
      EXPECT_EQ(Places[1 + Word].Elements, 100u);
      EXPECT_EQ(Places[1 + Word].Word, 2u) << "where it is in the source";
    }
    EXPECT_EQ(Places.back().Elements, 0u);
    EXPECT_EQ(Places.back().Word, 4u);
  }
}

TEST(StructPlaces, ofStructsThatChangedOtherwiseAreNotKnown) {
  const Program P = program();
  Launch L;
  L.Objects = {source()};
  ptx::LaunchFacts F;
  F.Arrays.resize(1);
  F.Objects.resize(1);
  const ObjectPlaces Struct = structPlaces(source(), {{8, 0}}, P, {layout("soa")}, 0);
  F.Objects[0] = Struct.Object;
  F.Arrays[0] = Struct.Arrays;
  ptx::Function Code;
  Code.Params.resize(1);
  Code.Params[0].Bytes = 40;
  dropOtherStructs(F, L, Code);
  EXPECT_EQ(F.Arrays[0].size(), 5u);
  Code.Params[0].Bytes = 56;
  dropOtherStructs(F, L, Code);
  EXPECT_TRUE(F.Arrays[0].empty());
  EXPECT_EQ(F.Objects[0].word(0, 4, 56), 3u);
  EXPECT_EQ(F.Objects[0].word(32, 4, 56), std::nullopt) << "between the pointers";
}
