#include "layouts/DeclaredSoa.h"
#include "layouts/Members.h"

namespace restride {

std::string DeclaredSoa::definition(const Record &R, llvm::StringRef Handle) const {
  auto Array = [](const Field &F, const std::string &Extents) {
    return Member{F.Type, F.KeepWhole ? F.Name + "[Extent]" + Extents : F.Name + Extents + "[Extent]"};
  };
  return std::string(GeneratedMark) + " an array of " + R.Name + " as a structure of arrays.\n" +
         "template <size_t Extent> struct " + Handle.str() + " {\n" + declareMembers(R.Fields, Array) + "};\n";
}

} // namespace restride
