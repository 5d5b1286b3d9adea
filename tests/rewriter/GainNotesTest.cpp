#include "rewriter/views/GainNotes.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

Report::Access access(unsigned Line, const char *Field, double Sectors, double Requests) {
  Report::Access A;
  A.File = "sim.cu", A.Line = Line, A.Column = 7, A.Field = Field, A.Bytes = 4;
  A.SectorsPerRequest = Sectors, A.RequestsPerWarp = Requests;
  return A;
}

Report::Candidate candidate(std::vector<Report::Access> Before, std::vector<Report::Access> After) {
  Report::Candidate C;
  C.Winner = "soa";
  for (auto &[Layout, Accesses] : {std::pair{"aos", Before}, {"soa", After}}) {
    Report::Kernel K;
    K.Accesses = Accesses;
    Report::Variant V;
    V.Layout = Layout;
    V.Kernels = {K};
    C.Variants.push_back(V);
  }
  return C;
}

TEST(GainNotes, nameFieldsAndSectors) {
  auto Notes = gainNotes(candidate({access(4, "x", 16, 1), access(4, "y", 16, 1), access(9, "z", 32, 10)},
                                   {access(4, "x", 4, 1), access(4, "y", 4, 1), access(9, "z", 4, 10)}));
  ASSERT_EQ(Notes.size(), 2u);
  EXPECT_EQ(Notes[0].first.Line, 9u);
  EXPECT_EQ(Notes[0].second, "load of 'z': 32.0 sectors per request as aos, 4.0 as soa");
  EXPECT_EQ(Notes[1].second, "load of 'x', 'y': 16.0 sectors per request as aos, 4.0 as soa");
}

TEST(GainNotes, countRequests) {
  auto Notes = gainNotes(candidate({access(4, "*", 32, 4)}, {access(4, "*", 32, 1)}));
  ASSERT_EQ(Notes.size(), 1u);
  EXPECT_EQ(Notes[0].second, "load of whole elements: 32.0 sectors per request as aos, 32.0 as soa, in 0.25 times as many requests");
}

TEST(GainNotes, needAGain) {
  EXPECT_TRUE(gainNotes(candidate({access(4, "x", 4, 1)}, {access(4, "x", 4, 1)})).empty());
  EXPECT_TRUE(gainNotes({}).empty());
}

} // namespace
} // namespace restride
