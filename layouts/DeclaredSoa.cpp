#include "layouts/DeclaredSoa.h"
#include "layouts/Members.h"

namespace restride {

std::string DeclaredSoa::definition(const Record &R, llvm::StringRef Handle) const {
  auto Array = [](const std::string &Name, const std::string &Extents, bool Whole) {
    return Whole ? Name + "[Extent]" + Extents : Name + Extents + "[Extent]";
  };
  return std::string(GeneratedMark) + " an array of " + R.Name + " as a structure of arrays.\n" +
         "template <size_t Extent> struct " + Handle.str() + " {\n" + declareMembers(R.Fields, Array) + "};\n";
}

} // namespace restride
