#include "rewriter/write/OwnerCode.h"

#include "analysis/program/Generated.h"

#include "llvm/ADT/Twine.h"

namespace restride {

std::string ownerName(llvm::StringRef Handle) { return (Handle + "_ptr").str(); }

/// A pointer as std::unique_ptr asks for one: null by default, compared, and a condition. \p First: its first array, ".x".
static std::string pointerCode(const std::string &Handle, const std::string &First) {
  const auto compare = [&](const std::string &Sign) {
    return "    friend bool operator" + Sign + "(const pointer &p, const pointer &q) { return p" + First + " " + Sign + " q" + First + "; }\n";
  };
  return "  struct pointer : " + Handle + " {\n"
         "    pointer(decltype(nullptr) = nullptr) : " + Handle + "{} {}\n"
         "    pointer(const " + Handle + " &p) : " + Handle + "(p) {}\n"
         "    explicit operator bool() const { return this->" + First.substr(1) + "; }\n" +
         compare("==") + compare("!=") + "  };\n";
}

std::string ownerCode(const Record &R, const Layout &L, llvm::StringRef Handle, llvm::StringRef Before) {
  const std::string H = Handle.str(), Deleter = H + "_delete", Head = (OwnerMark + Before + "\nstruct " + Deleter + " {\n").str();
  const auto type = [&](const std::string &Element) { return "using " + ownerName(H) + " = std::unique_ptr<" + Element + ", " + Deleter + ">;\n"; };
  if (!L.handleIsStruct())
    return Head + "  void operator()(" + H + " *p) const { cudaFree(p); }\n};\n" + type(H);
  const std::string First = L.arrays(R, H)[0].pointer();
  return Head + pointerCode(H, First) + "  void operator()(" + H + " p) const { cudaFree((void *)p" + First + "); }\n};\n" + type(R.Name);
}

} // namespace restride
