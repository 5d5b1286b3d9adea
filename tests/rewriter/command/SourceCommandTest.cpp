#include "rewriter/command/SourceCommand.h"

#include "tests/TemporaryFiles.h"

#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

std::string command(llvm::StringRef File, const FlagSources &Sources) {
  llvm::Expected<SourceCommand> Command = commandFor(File, Sources);
  if (!Command)
    return "error: " + llvm::toString(Command.takeError());
  return Command->Directory + ": " + llvm::join(Command->Flags, " ");
}

class SourceCommandTest : public testing::Test {
protected:
  void SetUp() override {
    File = Folder.write("src/a.cu", "");
    Folder.write("build/compile_commands.json",
                 R"([{"directory": ")" + Folder.path("build") +
                     R"(", "file": "../src/a.cu",)"
                     R"( "command": "nvcc -DFROM_DATABASE -arch=sm_80 -lineinfo -x cu -c ../src/a.cu -o a.o"}])");
  }
  test::TemporaryFolder Folder;
  std::string File;
};

TEST_F(SourceCommandTest, flagsAfterDashesWin) {
  FlagSources Sources;
  Sources.Fixed = {"-DA"};
  Sources.BuildPath = Folder.path("build");
  Sources.Extra = {"-DLAST"};
  EXPECT_EQ(command(File, Sources), std::filesystem::current_path().string() + ": -DA -DLAST");
}

TEST_F(SourceCommandTest, aDatabaseGivesFlagsAndFolder) {
  FlagSources Sources;
  Sources.BuildPath = Folder.path("build");
  EXPECT_EQ(command(File, Sources), Folder.path("build") + ": -DFROM_DATABASE -x cu");
  Sources.Extra = {"-lineinfo", "-DLAST"};
  EXPECT_EQ(command(File, Sources), Folder.path("build") + ": -DFROM_DATABASE -x cu -DLAST");
}

TEST_F(SourceCommandTest, aDatabaseThatLacksTheFileIsAnErrorWhenItWasNamed) {
  FlagSources Sources;
  Sources.BuildPath = Folder.path("build");
  EXPECT_EQ(command(Folder.path("src/b.cu"), Sources), "error: '" + Folder.path("build/compile_commands.json") +
                                                           "' has no command for '" + Folder.path("src/b.cu") + "'");
  EXPECT_EQ(command(Folder.path("build/b.cu"), {}), std::filesystem::current_path().string() + ": ");
}

TEST_F(SourceCommandTest, theNearestDatabaseIsFound) {
  Folder.write("compile_commands.json", R"([{"directory": ")" + Folder.path() +
                                            R"(", "file": "src/a.cu", "arguments": ["nvcc", "-DNEAR", "src/a.cu"]}])");
  EXPECT_EQ(command(File, {}), Folder.path() + ": -DNEAR");
}

TEST_F(SourceCommandTest, aBrokenDatabaseIsAnError) {
  Folder.write("broken/compile_commands.json", "{");
  FlagSources Sources;
  Sources.BuildPath = Folder.path("broken");
  EXPECT_TRUE(llvm::StringRef(command(File, Sources))
                  .starts_with("error: cannot read '" + Folder.path("broken/compile_commands.json") + "': "));
}

} // namespace
} // namespace restride
