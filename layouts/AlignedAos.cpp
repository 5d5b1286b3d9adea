#include "layouts/AlignedAos.h"

namespace restride {

std::optional<std::string> AlignedAos::objection(const Record &R) const {
  if (R.Align >= Bytes)
    return "'" + R.Name + "' is aligned to " + std::to_string(R.Align) + " bytes already";
  return std::nullopt;
}

std::string AlignedAos::definition(const Record &R, llvm::StringRef Handle) const {
  std::string A = std::to_string(Bytes);
  return std::string(GeneratedMark) + " " + R.Name + " on the device, aligned so that neighbouring fields load together.\n" + "struct __align__(" +
         A + ") " + Handle.str() + " : " + R.Name + " {};\n";
}

} // namespace restride
