#include "ptx/compile/Compile.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Path.h"

namespace restride::ptx {
using namespace llvm;

Language languageOf(StringRef File, ArrayRef<std::string> Flags) {
  for (size_t I = Flags.size(); I-- > 1;)
    if (Flags[I - 1] == "-x")
      return StringSwitch<Language>(Flags[I]).Case("c", Language::C).Case("c++", Language::Cxx).Default(Language::Cuda);
  return StringSwitch<Language>(sys::path::extension(File))
      .Case(".c", Language::C)
      .Cases({".cc", ".cpp", ".cxx", ".c++", ".C", ".CC", ".CPP"}, Language::Cxx)
      .Default(Language::Cuda);
}

} // namespace restride::ptx
