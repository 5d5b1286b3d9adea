#include "rewriter/command/CudaToolkit.h"

#include "tests/TemporaryFiles.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

/// Sets a variable for one test.
class Environment {
public:
  Environment(const char *Name, const char *Value) : Name(Name) {
    if (const char *Was = getenv(Name))
      Before = Was;
    if (Value)
      setenv(Name, Value, 1);
    else
      unsetenv(Name);
  }
  ~Environment() {
    if (Before)
      setenv(Name, Before->c_str(), 1);
    else
      unsetenv(Name);
  }

private:
  const char *Name;
  std::optional<std::string> Before;
};

/// The least that makes a folder a toolkit.
void writeToolkit(const test::TemporaryFolder &Folder, const std::string &Name) {
  Folder.write(Name + "/include/cuda.h", "#define CUDA_VERSION 12040\n");
  Folder.write(Name + "/nvvm/libdevice/libdevice.10.bc", "");
  Folder.write(Name + "/bin/nvcc", "");
}

std::string find(llvm::StringRef CudaPath) {
  llvm::Expected<CudaToolkit> Found = findCudaToolkit(CudaPath);
  if (!Found)
    return "error: " + llvm::toString(Found.takeError());
  return Found->Path + " " + std::to_string(Found->Major) + "." + std::to_string(Found->Minor);
}

TEST(CudaToolkit, isFoundInOrder) {
  test::TemporaryFolder Folder;
  for (const char *Name : {"option", "path", "home", "real"})
    writeToolkit(Folder, Name);
  std::filesystem::permissions(Folder.path("real/bin/nvcc"), std::filesystem::perms::owner_all);
  std::filesystem::create_directory(Folder.path("links"));
  std::filesystem::create_symlink(Folder.path("real/bin/nvcc"), Folder.path("links/nvcc"));

  Environment Path("CUDA_PATH", Folder.path("path").c_str());
  Environment Home("CUDA_HOME", Folder.path("home").c_str());
  EXPECT_EQ(find(Folder.path("option")), Folder.path("option") + " 12.4");
  EXPECT_EQ(find(""), Folder.path("path") + " 12.4");
  Environment NoPath("CUDA_PATH", nullptr);
  EXPECT_EQ(find(""), Folder.path("home") + " 12.4");
  Environment NoHome("CUDA_HOME", nullptr);
  Environment Search("PATH", Folder.path("links").c_str());
  EXPECT_EQ(find(""), Folder.path("real") + " 12.4");
}

TEST(CudaToolkit, aNamedPlaceWithoutOneIsAnError) {
  EXPECT_EQ(find("/nowhere"), "error: no CUDA Toolkit in '/nowhere' (--cuda-path): it has no include/cuda.h or no "
                              "nvvm/libdevice/libdevice.10.bc");
  Environment Path("CUDA_PATH", "/nowhere");
  EXPECT_EQ(find(""), "error: no CUDA Toolkit in '/nowhere' (CUDA_PATH): it has no include/cuda.h or no "
                      "nvvm/libdevice/libdevice.10.bc");
}

} // namespace
} // namespace restride
