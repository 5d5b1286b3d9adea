// What execution is told of where fields lie, against what the layouts say.
#include "rewriter/decide/ArrayPlaces.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

Field field(const char *Name, const char *Type, uint64_t Offset, uint64_t Size, std::vector<uint64_t> Extents = {}) {
  Field F;
  F.Name = Name, F.Type = Type, F.Offset = Offset, F.Size = Size, F.Align = Size > 4 ? 8 : Size, F.Extents = std::move(Extents);
  return F;
}

Candidate candidate() {
  Candidate C;
  C.Type.Name = "Node", C.Type.Size = 32, C.Type.Align = 8;
  C.Type.Fields = {field("flag", "char", 0, 1), field("x", "float", 4, 4), field("d", "double", 8, 8), field("v", "float", 16, 8, {2})};
  C.Type.Fields[3].Align = 4;
  C.Elements.Count = 1000;
  return C;
}

TEST(ArrayPlaces, AgreeWithTheLayouts) {
  const Candidate C = candidate();
  for (const Layout *L : catalogue()) {
    SCOPED_TRACE(L->name().str());
    std::vector<ptx::ArrayPlace> Places = arrayPlaces(C, *L);
    uint64_t Bytes = 0;
    std::vector<uint64_t> Begin; // of each pointer in the one allocation
    for (const ptx::ArrayPlace &P : Places)
      Begin.push_back(Bytes), Bytes += P.Bytes;
    EXPECT_EQ(Bytes, L->allocationBytes(C.Type, 1000));
    for (const Leaf &F : leaves(C.Type))
      for (uint64_t Element : {0, 1, 31, 500, 999})
        for (uint64_t Byte : {uint64_t(0), F.Size - 1}) {
          uint64_t At = L->offsetOf(C.Type, F, Element, 1000) + Byte;
          size_t K = std::upper_bound(Begin.begin(), Begin.end(), At) - Begin.begin() - 1;
          const ptx::ArrayPlace &P = Places[K];
          At -= Begin[K];
          EXPECT_EQ(At / P.TileBytes * P.SourceBytes + P.Source[At % P.TileBytes], Element * 32 + F.Offset + Byte) << F.Path << Element;
        }
  }
}

TEST(ArrayPlaces, LeavePaddingOut) {
  std::vector<ptx::ArrayPlace> Places = arrayPlaces(candidate(), *catalogue().front());
  ASSERT_EQ(Places.size(), 1u);
  EXPECT_EQ(Places[0].Source[0], 0u);
  EXPECT_EQ(Places[0].Source[1], ~0u);
}

} // namespace
} // namespace restride
