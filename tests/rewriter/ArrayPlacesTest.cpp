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
    const std::vector<ptx::ArrayPlace> Places = handlePlaces(C, *L, 0).Arrays;
    uint64_t Bytes = 0;
    std::vector<uint64_t> Begin; // of each word's array in the one allocation; a pitch has none, and begins where the next does
    for (const ptx::ArrayPlace &P : Places)
      Begin.push_back(P.Bytes ? Bytes : ~uint64_t(0)), Bytes += P.Bytes;
    EXPECT_EQ(Bytes, L->allocationBytes(C.Type, 1000));
    for (const Leaf &F : leaves(C.Type))
      for (uint64_t Element : {0, 1, 31, 500, 999})
        for (uint64_t Byte : {uint64_t(0), F.Size - 1}) {
          uint64_t At = L->offsetOf(C.Type, F, Element, 1000) + Byte;
          size_t K = 0;
          for (size_t I = 0; I < Begin.size(); ++I)
            if (Begin[I] <= At)
              K = I;
          const ptx::ArrayPlace &P = Places[K];
          At -= Begin[K];
          const uint64_t Array = P.PitchBytes ? At / P.PitchBytes : 0;
          At -= Array * P.PitchBytes;
          EXPECT_EQ(At / P.TileBytes * P.SourceBytes + P.Source[Array * P.TileBytes + At % P.TileBytes], Element * 32 + F.Offset + Byte) << F.Path << Element;
        }
  }
}

TEST(ArrayPlaces, ARefusedRecordStaysAsItIs) {
  Candidate C = candidate();
  C.Type.Fields.resize(1); // behind a bit-field nothing is described
  C.Refusals.push_back({});
  ASSERT_TRUE(C.refused());
  const std::vector<ptx::ArrayPlace> Places = handlePlaces(C, *catalogue().front(), 0).Arrays;
  ASSERT_EQ(Places.size(), 1u);
  ASSERT_EQ(Places[0].Source.size(), 32u);
  for (uint32_t Byte = 0; Byte < 32; ++Byte)
    EXPECT_EQ(Places[0].Source[Byte], Byte);
}

TEST(ArrayPlaces, KnowThePitchOfMemberArrays) {
  const ObjectPlaces Handle = handlePlaces(candidate(), *findLayout("soa"), 0);
  ASSERT_EQ(Handle.Arrays.size(), 5u) << "flag, x, d, v and its pitch";
  EXPECT_EQ(Handle.Arrays[3].PitchBytes, 1024u * 4) << "1000 elements, rounded up";
  const uint64_t Size = Handle.Object.Bytes.size();
  EXPECT_EQ(Size, 40u);
  EXPECT_EQ(Handle.Object.word(24, 8, Size), std::nullopt);
  EXPECT_EQ(Handle.Object.word(32, 8, Size), 1024u) << "in elements";
}

TEST(ArrayPlaces, AssumeAPitch) {
  Candidate C = candidate();
  C.Elements.Count = 0;
  const ObjectPlaces Handle = handlePlaces(C, *findLayout("soa"), 4096);
  EXPECT_EQ(Handle.Object.word(32, 8, 40), 4096u);
  EXPECT_EQ(Handle.Arrays[3].PitchBytes, 4096u * 4);
}

TEST(ArrayPlaces, LeavePaddingOut) {
  const std::vector<ptx::ArrayPlace> Places = handlePlaces(candidate(), *catalogue().front(), 0).Arrays;
  ASSERT_EQ(Places.size(), 1u);
  EXPECT_EQ(Places[0].Source[0], 0u);
  EXPECT_EQ(Places[0].Source[1], ~0u);
}

TEST(ArrayPlaces, OfDeclaredArraysAreAsCompilersLayThem) {
  Candidate C = candidate();
  C.Lives = Memory::Constant, C.Elements.Count = 3;
  // struct { char flag[3]; float x[3]; double d[3]; float v[2][3]; }
  const ptx::ArrayPlace Arrays = *declaredPlace(C, *findLayout("soa"));
  EXPECT_EQ(Arrays.TileBytes, 64u) << "3, padding, 12, 24 and 24 bytes";
  EXPECT_EQ(Arrays.SourceBytes, 96u);
  EXPECT_EQ(Arrays.Source[2], 64u) << "flag of the third";
  EXPECT_EQ(Arrays.Source[3], ~0u) << "in front of x";
  EXPECT_EQ(Arrays.Source[8], 36u) << "x of the second";
  EXPECT_EQ(Arrays.Source[16 + 3], 11u) << "in d of the first";
  EXPECT_EQ(Arrays.Source[40 + 12 + 4], 32u + 20) << "v[1] of the second";
  const ptx::ArrayPlace Aligned = *declaredPlace(C, *findLayout("aos-align16"));
  EXPECT_EQ(Aligned.TileBytes, 32u);
  EXPECT_EQ(Aligned.Source[8], 8u);
  C.Elements.Count = 1e6;
  EXPECT_FALSE(declaredPlace(C, *findLayout("soa")));
}

} // namespace
} // namespace restride
