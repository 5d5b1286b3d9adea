#include "rewriter/Apply.h"

#include "tests/TemporaryFiles.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace restride {
namespace {

std::string apply(const std::vector<Report::Change> &Changes) {
  llvm::Error E = applyChanges(Changes);
  return E ? llvm::toString(std::move(E)) : "";
}

TEST(Apply, replacesAllFiles) {
  test::TemporaryFolder Folder;
  std::string A = Folder.write("a.cu", "old a\r\n"), B = Folder.write("b.cu", "old b");
  EXPECT_EQ(apply({{A, "old a\r\n", "new a\r\n"}, {B, "old b", "new b"}}), "");
  EXPECT_EQ(Folder.read("a.cu"), "new a\r\n");
  EXPECT_EQ(Folder.read("b.cu"), "new b");
  EXPECT_EQ(Folder.count(), 2u);
}

TEST(Apply, keepsModeAndLinks) {
  test::TemporaryFolder Folder;
  std::string File = Folder.write("real.cu", "old");
  chmod(File.c_str(), 0751);
  std::filesystem::create_symlink("real.cu", Folder.path("link.cu"));
  EXPECT_EQ(apply({{Folder.path("link.cu"), "old", "new"}}), "");
  EXPECT_TRUE(std::filesystem::is_symlink(Folder.path("link.cu")));
  EXPECT_EQ(Folder.read("real.cu"), "new");
  struct stat Status;
  ASSERT_EQ(stat(File.c_str(), &Status), 0);
  EXPECT_EQ(Status.st_mode & 07777, 0751u);
}

TEST(Apply, oneReadOnlyTargetChangesNothing) {
  test::TemporaryFolder Folder;
  std::string A = Folder.write("a.cu", "old"), B = Folder.write("b.cu", "old");
  chmod(B.c_str(), 0444);
  EXPECT_EQ(apply({{A, "old", "new"}, {B, "old", "new"}}), "cannot write '" + B + "': the file is read-only");
  EXPECT_EQ(Folder.read("a.cu"), "old");
  EXPECT_EQ(Folder.count(), 2u);
}

TEST(Apply, aTargetThatChangedMeanwhileChangesNothing) {
  test::TemporaryFolder Folder;
  std::string A = Folder.write("a.cu", "old"), B = Folder.write("b.cu", "edited");
  EXPECT_EQ(apply({{A, "old", "new"}, {B, "old", "new"}}),
            "cannot write '" + B + "': the file changed while restride ran");
  EXPECT_EQ(apply({{Folder.path("none.cu"), "", "new"}}),
            "cannot write '" + Folder.path("none.cu") + "': No such file or directory");
  EXPECT_EQ(Folder.read("a.cu"), "old");
  EXPECT_EQ(Folder.count(), 2u);
}

TEST(Apply, twoNamesOfOneFileChangeNothing) {
  test::TemporaryFolder Folder;
  std::string A = Folder.write("a.cu", "old");
  std::filesystem::create_symlink("a.cu", Folder.path("b.cu"));
  EXPECT_EQ(apply({{A, "old", "new"}, {Folder.path("b.cu"), "old", "other"}}),
            "cannot write '" + Folder.path("b.cu") + "': two changes have this file as their target");
  EXPECT_EQ(Folder.read("a.cu"), "old");
}

TEST(Apply, writesReportsWithTheirFolders) {
  test::TemporaryFolder Folder;
  auto Write = [](const std::string &Path, llvm::StringRef Text) {
    llvm::Error E = writeFile(Path, Text);
    return E ? llvm::toString(std::move(E)) : "";
  };
  EXPECT_EQ(Write(Folder.path("x/y/r.json"), "{}"), "");
  EXPECT_EQ(Write(Folder.path("x/y/r.json"), "[]"), "");
  EXPECT_EQ(Folder.read("x/y/r.json"), "[]");
  EXPECT_EQ(Write(Folder.path("x"), ""), "cannot write '" + Folder.path("x") + "': it is a directory");
  EXPECT_EQ(Write(Folder.path("x/y/r.json/z"), ""),
            "cannot write '" + Folder.path("x/y/r.json/z") + "': Not a directory");
}

} // namespace
} // namespace restride
