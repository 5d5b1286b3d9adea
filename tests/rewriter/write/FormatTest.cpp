#include "rewriter/write/Format.h"

#include "analysis/program/FieldCopyCode.h"
#include "tests/TemporaryFiles.h"

#include "gtest/gtest.h"

namespace restride {
namespace {

class Format : public testing::Test {
protected:
  void SetUp() override {
    Folder.write(".clang-format", "BasedOnStyle: LLVM\nColumnLimit: 40\n");
    File = Folder.path("sim.cu");
  }

  test::TemporaryFolder Folder;
  std::string File;
};

TEST_F(Format, CommentsFitTheLine) {
  EXPECT_EQ(formatFor(File, "// a comment that is longer than forty columns\n"),
            "// a comment that is longer than forty\n// columns\n");
}

TEST_F(Format, TheMarkOfFieldCopiesStaysWhole) {
  std::string Mark = fieldCopyMark("Xyz") + "\n";
  EXPECT_EQ(formatFor(File, Mark), Mark);
}

} // namespace
} // namespace restride
