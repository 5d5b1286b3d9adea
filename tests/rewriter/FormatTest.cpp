#include "rewriter/Format.h"

#include "analysis/program/FieldCopyCode.h"

#include "tests/TemporaryFiles.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

TEST(Format, CommentsFitTheLine) {
  test::TemporaryFolder Folder; // without a .clang-format
  EXPECT_EQ(formatFor(Folder.path("sim.cu"), "// a comment that is longer than the eighty columns which the style allows for a line\n"),
            "// a comment that is longer than the eighty columns which the style allows for a\n// line\n");
}

TEST(Format, TheMarkOfFieldCopiesStaysWhole) {
  std::string Mark = fieldCopyMark("ARecordWithALongName") + "\n";
  test::TemporaryFolder Folder;
  EXPECT_EQ(formatFor(Folder.path("sim.cu"), Mark), Mark);
}

} // namespace
} // namespace restride
