#include "rewriter/write/ElementCode.h"

#include "llvm/ADT/StringExtras.h"

namespace restride {

std::string elementFunction(const Record &R, llvm::StringRef Handle, llvm::StringRef What) {
  if (!R.Private)
    return (Handle + "_" + What).str();
  bool IsField = llvm::any_of(R.Fields, [&](const Field &F) { return F.Name == What; });
  return (Handle + "::" + What + (IsField ? "_element" : "")).str();
}

std::string storeName(llvm::ArrayRef<std::string> Path) { return Path.empty() ? "store" : "store_" + llvm::join(Path, "_"); }

std::string localRecord(const Record &R, llvm::StringRef Indent) {
  if (R.TrivialDefault)
    return (Indent + R.Name + " r;\n").str();
  // The reference matters: nvcc copies a union's member byte by byte.
  return (Indent + "union Raw { // room for a " + R.Name + ", whose constructor does not run\n" + Indent + "  " + R.Name + " r;\n" + Indent +
          "  __host__ __device__ Raw() {}\n" + Indent + "} raw;\n" + Indent + R.Name + " &r = raw.r;\n")
      .str();
}

std::string filledRecord(const Record &R) {
  return localRecord(R, "  ") + "  memset(" + (R.TrivialDefault ? "" : "(void *)") + "&r, value, sizeof(r));\n";
}

std::string elementStore(const Record &R, const Layout &L, llvm::StringRef Handle, llvm::StringRef Pointer, llvm::StringRef Index, llvm::StringRef Value) {
  if (L.elementIsRecord())
    return ("static_cast<" + R.Name + " &>(" + Pointer + "[" + Index + "]) = " + Value + ";").str();
  return (llvm::Twine(elementFunction(R, Handle, "store")) + "(" + Pointer + ", " + Index + ", " + Value + ");").str();
}

/// "static inline __host__ __device__ void PSoA_store(PSoA p, ptrdiff_t i", the
/// handle by pointer to const where it only reads.
static std::string head(const Record &R, const Layout &L, llvm::StringRef Handle, llvm::StringRef What, llvm::StringRef Result, bool Reads) {
  std::string Name = elementFunction(R, Handle, What);
  Name = Name.substr(Name.rfind(':') + 1);
  if (L.handleIsArray())
    return (llvm::Twine("template <size_t Extent>\nstatic inline __host__ __device__ ") + Result + " " + Name + "(" + (Reads ? "const " : "") + Handle +
            "<Extent> &p, ptrdiff_t i")
        .str();
  return (llvm::Twine(R.Private ? "static " : "static inline ") + "__host__ __device__ " + Result + " " + Name + "(" +
          (L.handleIsStruct() || !Reads ? "" : "const ") + Handle + (L.handleIsStruct() ? " p" : " *p") + ", ptrdiff_t i")
      .str();
}

namespace {
/// Statement(path in the record, path in the layout)
using LeafStatement = llvm::function_ref<std::string(const std::string &, const std::string &)>;
} // namespace

/// Statements over all leaves of \p Fields.
static std::string forEachLeaf(const std::vector<Field> &Fields, const std::string &Path, const std::string &Indent, unsigned Depth,
                               LeafStatement Statement) {
  std::string Out;
  constexpr uint64_t Short = 8; // each by itself: nvcc joins loads of neighbours at constant places, and none of a loop's
  for (const Field &F : Fields) {
    std::string Here = Path + "." + F.Name, Rest, Pad = Indent;
    if (F.Members.empty() && F.Extents.size() == 1 && F.Extents[0] <= Short) {
      for (uint64_t K = 0; K < F.Extents[0]; ++K) {
        const std::string Place = "[" + std::to_string(K) + "]";
        Out += Pad + (F.KeepWhole ? Statement(Here, Place) : Statement(Here + Place, "")) + "\n";
      }
      continue;
    }
    for (uint64_t E : F.Extents) {
      std::string K = std::string(1, char('j' + Depth++));
      Out += Pad + "for (int " + K + " = 0; " + K + " < " + std::to_string(E) + "; ++" + K + ")\n";
      Pad += "  ";
      (F.KeepWhole ? Rest : Here) += "[" + K + "]";
    }
    if (F.Members.empty()) {
      Out += Pad + Statement(Here, Rest) + "\n";
    } else if (F.Extents.empty()) {
      Out += forEachLeaf(F.Members, Here, Pad, Depth, Statement);
    } else {
      std::string Outer = Pad.substr(2);
      Out.pop_back();
      Out += " {\n" + forEachLeaf(F.Members, Here, Pad, Depth, Statement) + Outer + "}\n";
    }
    Depth -= F.Extents.size();
  }
  return Out;
}

std::string loadFunction(const Record &R, const Layout &L, llvm::StringRef Handle) {
  std::string Out = head(R, L, Handle, "load", R.Name, true) + ") {\n" + localRecord(R, "  ");
  Out += forEachLeaf(R.Fields, "", "  ", 0, [&](const std::string &Path, const std::string &Rest) {
    return "r" + Path + Rest + " = " + expandAccess(L.accessPattern(Path), "p", "i", Path) + Rest + ";";
  });
  return Out + "  return r;\n}\n";
}

std::string storeFunction(const Record &R, const Layout &L, llvm::StringRef Handle, llvm::ArrayRef<std::string> Path) {
  const std::vector<Field> *Fields = &R.Fields;
  std::string Prefix, Type = R.Name;
  for (const std::string &Name : Path)
    for (const Field &F : *Fields)
      if (F.Name == Name) {
        Prefix += "." + Name;
        Type = F.Type;
        Fields = &F.Members;
        break;
      }
  std::string Out = head(R, L, Handle, storeName(Path), "void", false) + ", const " + Type + " &r) {\n";
  Out += forEachLeaf(*Fields, Prefix, "  ", 0, [&](const std::string &Full, const std::string &Rest) {
    return expandAccess(L.accessPattern(Full), "p", "i", Full) + Rest + " = r" + Full.substr(Prefix.size()) + Rest + ";";
  });
  return Out + "}\n";
}

} // namespace restride
