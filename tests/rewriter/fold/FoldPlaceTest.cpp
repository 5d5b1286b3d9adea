#include "rewriter/fold/FoldPlace.h"

#include "gtest/gtest.h"

using namespace restride;

namespace {

/// Files of a program; where each says USE, the arrays are used.
class FoldPlace : public testing::Test {
protected:
  void add(const char *Path, llvm::StringRef Text, bool Main = false) {
    unsigned Begin = A.P.Text.add(Path, Text).Text.Begin;
    if (Main)
      A.MainFiles.insert(Begin);
    for (size_t At = Text.find("USE"); At != llvm::StringRef::npos; At = Text.find("USE", At + 1))
      Uses.push_back({unsigned(Begin + At), unsigned(Begin + At + 3)});
  }
  /// The text in front of which the record goes.
  std::string before() const {
    std::optional<unsigned> At = recordPlace(A, Uses);
    return At ? A.P.Text.text().substr(*At).take_until([](char C) { return C == '\n'; }).str() : "nowhere";
  }

  ArrayProgram A;
  std::vector<Range> Uses;
};

} // namespace

TEST_F(FoldPlace, OneFileTakesItAboveTheFirstUse) {
  add("/p/a.cu", "int n;\n// What f does.\nvoid f(USE);\nvoid g(USE);\n", true);
  EXPECT_EQ(before(), "// What f does.");
}

TEST_F(FoldPlace, TheHeaderThatAllReadFirst) {
  add("/p/a.cu", "#include \"sub/a.h\"\nint a(USE);\n", true);
  add("/p/b.cu", "#include <a.h>\n# include \"b.h\"\nint b(USE);\n", true);
  add("/p/b.h", "int bh(USE);\n");
  add("/p/sub/a.h", "#pragma once\nint ah(USE);\n");
  EXPECT_EQ(before(), "int ah(USE);");
}

TEST_F(FoldPlace, ThroughAnotherHeader) {
  add("/p/a.cu", "#include \"all.h\"\nint a(USE);\n", true);
  add("/p/all.h", "#include \"../p/a.h\"\n");
  add("/p/a.h", "int ah(USE);\n");
  EXPECT_EQ(before(), "int ah(USE);");
}

TEST_F(FoldPlace, AMainFileThatIncludesTheRest) {
  add("/p/a.cu", "int n(USE);\n#include \"kernels.cuh\"\nint main() { USE; }\n", true);
  add("/p/kernels.cuh", "int k(USE);\n");
  EXPECT_EQ(before(), "int n(USE);");
}

TEST_F(FoldPlace, NoFileIsReadByAll) {
  add("/p/a.cu", "int a(USE);\n", true);
  add("/p/b.cu", "int b(USE);\n", true);
  EXPECT_EQ(before(), "nowhere");
}

TEST_F(FoldPlace, AHeaderReadTooLate) {
  add("/p/a.cu", "int a(USE);\n#include \"a.h\"\n", true);
  add("/p/b.cu", "#include \"a.h\"\nint b(USE);\n", true);
  add("/p/a.h", "int ah(USE);\n");
  EXPECT_EQ(before(), "nowhere");
}

TEST_F(FoldPlace, HeadersThatIncludeEachOther) {
  add("/p/a.cu", "#include \"x.h\"\nint a(USE);\n", true);
  add("/p/x.h", "#include \"y.h\"\nint x(USE);\n");
  add("/p/y.h", "#include \"x.h\"\nint y(USE);\n");
  EXPECT_EQ(before(), "int y(USE);");
}

TEST_F(FoldPlace, NotInsideAConditionThatEndsBeforeAUse) {
  add("/p/a.cu", "#ifndef GUARD\n#ifdef FAST\nint a(USE);\n#endif\nint b(USE);\n#endif\n", true);
  EXPECT_EQ(before(), "#ifdef FAST");
}

TEST_F(FoldPlace, InsideAGuardThoughOtherFilesUseItToo) {
  add("/p/a.cu", "#include \"a.h\"\nint a(USE);\n", true);
  add("/p/a.h", "#ifndef A_H\n#define A_H\nint ah(USE);\n#endif\n");
  EXPECT_EQ(before(), "int ah(USE);");
}
