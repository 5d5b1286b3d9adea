// Where every layout in the catalogue puts every field of every element.
#include "layouts/Grouped.h"
#include "tests/layouts/Shapes.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace restride {
namespace {

struct Piece {
  uint64_t Begin, End; // bytes
  std::string What;
};

std::vector<Piece> pieces(const Layout &L, const Record &R, uint64_t Count) {
  std::vector<Piece> Out;
  for (uint64_t I = 0; I < Count; ++I)
    for (const Leaf &One : leaves(R)) {
      uint64_t At = L.offsetOf(R, One, I, Count);
      Out.push_back({At, At + One.Size, std::to_string(I) + One.Path});
    }
  std::sort(Out.begin(), Out.end(), [](const Piece &A, const Piece &B) { return A.Begin < B.Begin; });
  return Out;
}

/// The catalogue, and the fields of \p R in groups of two.
std::vector<const Layout *> layoutsFor(const Record &R) {
  std::vector<const Layout *> Out(catalogue());
  std::vector<std::vector<std::string>> Groups;
  for (size_t I = 0; I < R.Fields.size(); ++I) {
    if (I % 2 == 0)
      Groups.emplace_back();
    Groups.back().push_back(R.Fields[I].Name);
  }
  Out.push_back(&groupedLayout(R, Groups));
  return Out;
}

void forAll(llvm::function_ref<void(const Layout &, const Record &, uint64_t Count)> Check) {
  for (const Record &R : shapes::all())
    for (const Layout *L : layoutsFor(R))
      if (!L->objection(R))
        for (uint64_t Count : {1, 31, 32, 33, 300}) {
          SCOPED_TRACE(L->name().str() + " of " + std::to_string(Count) + " " + R.Name);
          Check(*L, R, Count);
        }
}

TEST(Placement, piecesDoNotOverlap) {
  forAll([](const Layout &L, const Record &R, uint64_t Count) {
    std::vector<Piece> All = pieces(L, R, Count);
    ASSERT_EQ(All.size(), Count * leaves(R).size());
    for (size_t I = 1; I < All.size(); ++I)
      ASSERT_LE(All[I - 1].End, All[I].Begin) << All[I - 1].What << " and " << All[I].What;
  });
}

TEST(Placement, piecesLieInTheAllocation) {
  forAll([](const Layout &L, const Record &R, uint64_t Count) {
    EXPECT_LE(pieces(L, R, Count).back().End, L.allocationBytes(R, Count));
    EXPECT_GE(L.allocationBytes(R, Count), Count * leaves(R).size());
  });
}

TEST(Placement, piecesAreAligned) {
  forAll([](const Layout &L, const Record &R, uint64_t Count) {
    for (const Leaf &One : leaves(R))
      for (uint64_t I = 0; I < Count; ++I)
        ASSERT_EQ(L.offsetOf(R, One, I, Count) % One.Align, 0u) << I << One.Path;
  });
}

TEST(Placement, originalIsTheRecordAgainAndAgain) {
  const Layout &Aos = *catalogue().front();
  for (const Record &R : shapes::all())
    for (const Leaf &L : leaves(R))
      EXPECT_EQ(Aos.offsetOf(R, L, 7, 100), 7 * R.Size + L.Offset) << R.Name << L.Path;
}

TEST(Placement, neighboursAreNeighboursInAnArrayOfTheirOwn) {
  const Layout &Soa = *findLayout("soa");
  for (const Record &R : shapes::all())
    for (const Leaf &L : leaves(R))
      EXPECT_EQ(Soa.offsetOf(R, L, 8, 100) - Soa.offsetOf(R, L, 7, 100), L.Size) << R.Name << L.Path;
}

TEST(Placement, tilesFollowEachOther) {
  const Layout &Tiles = *findLayout("asta32");
  Record R = shapes::pair();
  Leaf X = leaves(R)[0], Y = leaves(R)[1];
  EXPECT_EQ(Tiles.offsetOf(R, X, 31, 64), 31 * 4u);
  EXPECT_EQ(Tiles.offsetOf(R, Y, 0, 64), 32 * 4u);
  EXPECT_EQ(Tiles.offsetOf(R, X, 32, 64), 32 * 8u);
  EXPECT_EQ(Tiles.allocationBytes(R, 33), 2 * 32 * 8u);
}

TEST(Placement, alignmentGrowsTheElement) {
  Record R = shapes::padded();
  EXPECT_EQ(findLayout("aos-align16")->allocationBytes(R, 10), 10 * 32u);
  EXPECT_TRUE(findLayout("aos-align8")->objection(R)) << "it has that alignment";
}

} // namespace
} // namespace restride
