// A folder that a test fills and that is gone afterwards.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <stdlib.h>
#include <string>

namespace restride::test {

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string Template = (std::filesystem::temp_directory_path() / "restride-test-XXXXXX").string();
    if (!mkdtemp(Template.data()))
      throw std::runtime_error("cannot make a temporary folder");
    Root = std::filesystem::canonical(Template).string();
  }
  ~TemporaryFolder() {
    std::error_code Ignored;
    std::filesystem::remove_all(Root, Ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  const std::string &path() const { return Root; }
  std::string path(const std::string &Name) const { return Root + "/" + Name; }

  /// Writes Name, with folders as needed, and returns its path.
  std::string write(const std::string &Name, const std::string &Text) const {
    std::filesystem::path Path = path(Name);
    std::filesystem::create_directories(Path.parent_path());
    std::ofstream(Path, std::ios::binary) << Text;
    return Path.string();
  }
  std::string read(const std::string &Name) const {
    std::ifstream In(path(Name), std::ios::binary);
    std::ostringstream Text;
    Text << In.rdbuf();
    return Text.str();
  }
  /// How many files and folders are in it.
  size_t count() const {
    size_t N = 0;
    for ([[maybe_unused]] const auto &Entry : std::filesystem::recursive_directory_iterator(Root))
      ++N;
    return N;
  }

private:
  std::string Root;
};

} // namespace restride::test
