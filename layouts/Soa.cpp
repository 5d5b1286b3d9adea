#include "layouts/Soa.h"
#include "layouts/Members.h"

namespace restride {

/// Kernel parameters end at 4096 bytes, and a handle is one parameter of several.
static constexpr size_t MaxArrays = 128;

std::optional<std::string> Soa::objection(const Record &R) const {
  size_t N = leaves(R).size();
  if (N > MaxArrays)
    return "'" + R.Name + "' would need " + std::to_string(N) + " arrays, more than a kernel parameter should carry";
  if (N == 1)
    return "'" + R.Name + "' has a single field, so nothing would change";
  return std::nullopt;
}

uint64_t Soa::offsetOf(const Record &R, const Leaf &L, uint64_t Element, uint64_t Count) const {
  uint64_t Pitch = (Count + countGranule() - 1) / countGranule() * countGranule(), Before = 0;
  for (const Leaf &Other : leaves(R)) {
    if (Other.Path == L.Path)
      break;
    Before += Other.Size;
  }
  return Pitch * Before + Element * L.Size;
}

uint64_t Soa::allocationBytes(const Record &R, uint64_t Count) const {
  uint64_t Pitch = (Count + countGranule() - 1) / countGranule() * countGranule(), Bytes = 0;
  for (const Leaf &L : leaves(R))
    Bytes += L.Size;
  return Pitch * Bytes;
}

std::string Soa::definition(const Record &R, llvm::StringRef Handle) const {
  auto Pointer = [](const std::string &Name, const std::string &Extents, bool Whole) {
    if (Whole && !Extents.empty()) // one array of arrays
      return "(*" + Name + ")" + Extents;
    return "*" + Name + Extents;
  };
  return std::string(GeneratedMark) + " " + R.Name + " as a structure of arrays, all in one allocation.\n" + "struct " +
         Handle.str() + " {\n" + declareMembers(R.Fields, Pointer) + "};\n";
}

} // namespace restride
