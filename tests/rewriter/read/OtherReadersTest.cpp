#include "rewriter/read/OtherReaders.h"
#include "tests/TemporaryFiles.h"

#include <gtest/gtest.h>

using namespace restride;

TEST(OtherReaders, areFilesThatIncludeTheHeaderAndTakeNoPart) {
  test::TemporaryFolder Folder;
  std::string Header = Folder.write("include/p.h", "struct P { float x, y; };\n");
  std::string Main = Folder.write("src/main.cu", "#include \"../include/p.h\"\n");
  EXPECT_EQ(otherReader(Header, Folder.path(), {Main}), std::nullopt);
  std::string Beside = Folder.write("src/x.cpp", "# include \"../include/p.h\"\n");
  EXPECT_EQ(otherReader(Header, Folder.path(), {Main}), Beside);
  EXPECT_EQ(otherReader(Header, Folder.path(), {Main, Beside}), std::nullopt);
  std::string ByPath = Folder.write("src/y.cc", "int y;\n  #include <include/p.h> // by -I\n");
  EXPECT_EQ(otherReader(Header, Folder.path(), {Main, Beside}), ByPath);
}

TEST(OtherReaders, areFoundWhateverStandsBehindTheName) {
  test::TemporaryFolder Folder;
  std::string Header = Folder.write("include/p.h", "");
  std::string Reader = Folder.write("src/main.cu", "#include <include/p.h> // not \"q.h\"\n");
  EXPECT_EQ(otherReader(Header, Folder.path(), {}), Reader);
}

TEST(OtherReaders, areNotThoseOfAnotherHeaderOfItsName) {
  test::TemporaryFolder Folder;
  std::string Header = Folder.write("one/p.h", "");
  Folder.write("two/p.h", "");
  Folder.write("two/main.cu", "#include \"p.h\"\n");
  Folder.write("two/notes.txt", "#include \"../one/p.h\"\n");
  Folder.write(".hidden/x.cu", "#include \"../one/p.h\"\n");
  EXPECT_EQ(otherReader(Header, Folder.path(), {}), std::nullopt);
}

TEST(ProjectRoot, isTheNearestFolderUnderVersionControl) {
  test::TemporaryFolder Folder;
  std::string A = Folder.write("project/src/a.cu", ""), B = Folder.write("project/src/deep/b.cu", "");
  EXPECT_EQ(projectRoot({A, B}), Folder.path("project/src"));
  Folder.write("project/.git/HEAD", "");
  EXPECT_EQ(projectRoot({A, B}), Folder.path("project"));
}
