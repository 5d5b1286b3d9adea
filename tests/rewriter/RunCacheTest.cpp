#include "rewriter/RunCache.h"

#include "tests/TemporaryFiles.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

namespace restride {
namespace {

class RunCacheTest : public testing::Test {
protected:
  void SetUp() override {
    setenv("XDG_CACHE_HOME", Folder.path("cache").c_str(), 1);
    Inputs.Files = {Folder.write("src/a.cu", "one"), Folder.path("src/.restride.yaml")};
    Inputs.Folders = {Folder.path("src")};
    wait();
  }
  void TearDown() override { unsetenv("XDG_CACHE_HOME"); }

  /// Times of files have the kernel's ticks.
  static void wait() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }
  static std::string found(const RunCache &Cache) {
    std::optional<RunOutput> Output = Cache.find();
    return Output ? std::to_string(Output->ExitCode) + Output->Out + Output->Err : "none";
  }
  void store() { RunCache({"key"}).store(Inputs, {1, "out\xff", "err"}); }

  test::TemporaryFolder Folder;
  RunInputs Inputs;
};

TEST_F(RunCacheTest, givesBackWhatWasPrinted) {
  EXPECT_EQ(found(RunCache({"key"})), "none");
  store();
  EXPECT_EQ(found(RunCache({"key"})), "1out\xff" "err");
  EXPECT_EQ(found(RunCache({"ke", "y"})), "none");
}

TEST_F(RunCacheTest, seesAChange) {
  store();
  Folder.write("src/a.cu", "two");
  EXPECT_EQ(found(RunCache({"key"})), "none");
  Folder.write("src/a.cu", "one"); // contents count, not times
  EXPECT_EQ(found(RunCache({"key"})), "1out\xff" "err");
}

TEST_F(RunCacheTest, seesNewFiles) {
  store();
  std::string Config = Folder.write("src/.restride.yaml", "");
  EXPECT_EQ(found(RunCache({"key"})), "none");
  std::filesystem::remove(Config);
  EXPECT_EQ(found(RunCache({"key"})), "1out\xff" "err");
  Folder.write("src/b.h", "");
  EXPECT_EQ(found(RunCache({"key"})), "none");
}

TEST_F(RunCacheTest, seesSourcesOfATree) {
  Inputs.Trees = {Folder.path()};
  store();
  EXPECT_EQ(found(RunCache({"key"})), "1out\xff" "err");
  Folder.write("other/deep/c.cu", "");
  EXPECT_EQ(found(RunCache({"key"})), "none");
}

TEST_F(RunCacheTest, keepsNothingOfFilesThatAreBeingWritten) {
  RunCache Cache({"key"});
  Folder.write("src/a.cu", "one");
  Cache.store(Inputs, {0, "out", ""});
  EXPECT_EQ(found(RunCache({"key"})), "none");
}

TEST_F(RunCacheTest, doesNotMindABrokenEntry) {
  store();
  for (const auto &Entry : std::filesystem::directory_iterator(Folder.path("cache/restride")))
    if (std::filesystem::file_size(Entry.path()))
      std::filesystem::resize_file(Entry.path(), std::filesystem::file_size(Entry.path()) - 1);
  EXPECT_EQ(found(RunCache({"key"})), "none");
  store();
  EXPECT_EQ(found(RunCache({"key"})), "1out\xff" "err");
}

TEST_F(RunCacheTest, worksWithoutAFolder) {
  setenv("XDG_CACHE_HOME", "/dev/null", 1);
  store();
  EXPECT_EQ(found(RunCache({"key"})), "none");
}

} // namespace
} // namespace restride
