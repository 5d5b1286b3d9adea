#include "rewriter/Format.h"

#include "analysis/program/FieldCopyCode.h"

#include "gtest/gtest.h"

namespace restride {
namespace {

TEST(Format, CommentsFitTheLine) {
  EXPECT_EQ(formatFor("sim.cu", "// a comment that is longer than the eighty columns which the style allows for a line\n"),
            "// a comment that is longer than the eighty columns which the style allows for a\n// line\n");
}

TEST(Format, TheMarkOfFieldCopiesStaysWhole) {
  std::string Mark = fieldCopyMark("ARecordWithALongName") + "\n";
  EXPECT_EQ(formatFor("sim.cu", Mark), Mark);
}

} // namespace
} // namespace restride
