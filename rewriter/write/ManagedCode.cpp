#include "rewriter/write/ManagedCode.h"

#include "rewriter/write/ElementCode.h"

namespace restride {

/// "PSoA_hostMemset(PSoA p, int value, size_t bytes)". A whole number of records is filled: the byte count is seen to be one.
static std::string hostFill(const Record &R, const Layout &L, const std::string &H, bool At) {
  return "static inline void " + helperName(H, HostCall::HostMemset) + "(" + H + (L.handleIsStruct() ? " p, " : " *p, ") + (At ? "ptrdiff_t first, " : "") +
         "int value, size_t bytes) {\n" + filledRecord(R) + "  for (size_t i = 0; i < bytes / sizeof(" + R.Name + "); ++i)\n    " +
         elementStore(R, L, H, "p", At ? "first + i" : "i", "r") + "\n}\n";
}

/// The calls of \p Runtime for `n` elements, an array each, up to the first that fails.
static std::string hintCalls(const Record &R, const Layout &L, const std::string &H, const std::string &Runtime, bool At) {
  if (!L.handleIsStruct()) {
    const uint64_t Granule = L.countGranule();
    const std::string Tile = std::to_string(Granule), Last = std::to_string(Granule - 1);
    const std::string First = !At ? "" : Granule == 1 ? " + first" : " + first / " + Tile;
    const std::string Elements = Granule == 1 ? "n" : (At ? "(first % " + Tile + " + n + " : "(n + ") + Last + ") / " + Tile;
    return "  return " + Runtime + "(p" + First + ", " + Elements + " * sizeof(" + H + "), rest...);\n";
  }
  std::string Out = "  cudaError_t e = cudaSuccess;\n";
  const std::string First = At ? " + first" : "";
  for (const HandleArray &One : L.arrays(R, H)) {
    const bool Several = One.Arrays > 1;
    Out += Several ? "  for (size_t k = 0; e == cudaSuccess && k < " + std::to_string(One.Arrays) + "; ++k)\n" : "  if (e == cudaSuccess)\n";
    Out += "    e = " + Runtime + "(p" + One.pointer() + (Several ? " + k * p" + One.pitch() : "") + First + ", n * " + std::to_string(One.Size) + ", rest...);\n";
  }
  return Out + "  return e;\n";
}

/// "PSoA_memPrefetchAsync(PSoA p, size_t bytes, rest...)". What else it takes differs between releases of the toolkit.
static std::string hint(const Record &R, const Layout &L, const std::string &H, HostCall::Api What, bool At) {
  return "template <class... Rest>\nstatic inline cudaError_t " + helperName(H, What) + "(" + (L.handleIsStruct() ? H + " p, " : "const " + H + " *p, ") +
         (At ? "ptrdiff_t first, " : "") + "size_t bytes, Rest... rest) {\n  size_t n = bytes / sizeof(" + R.Name + ");\n" +
         hintCalls(R, L, H, What == HostCall::Advise ? "cudaMemAdvise" : "cudaMemPrefetchAsync", At) + "}\n";
}

std::vector<std::string> managedCode(const Record &R, const Layout &L, llvm::StringRef Handle, const HelperNeeds &Needs) {
  std::vector<std::string> Out;
  const std::string H = Handle.str();
  if (Needs.HostFill)
    Out.push_back(hostFill(R, L, H, Needs.FillAt));
  for (HostCall::Api What : Needs.Hints)
    Out.push_back(hint(R, L, H, What, Needs.HintAt));
  return Out;
}

} // namespace restride
