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

/// Its elements' arrays lie behind one pointer. An array of pointers would do but for nvcc, which copies a kernel's
/// parameters to local memory where a loop chooses among them.
static bool isPitched(const Field &F) { return F.Members.empty() && !F.KeepWhole && F.arrayElements() > 1; }

static void addArrays(const std::vector<Field> &Fields, const std::string &Prefix, std::vector<HandleArray> &Out) {
  for (const Field &F : Fields) {
    const std::string Path = Prefix + "." + F.Name;
    if (isPitched(F))
      Out.push_back({Path, F.Type, "", F.Size / F.arrayElements(), {}, F.arrayElements()});
    else if (F.Members.empty())
      for (const Leaf &L : leaves(Record{"", 0, 1, {F}}))
        Out.push_back({Prefix + L.Path, L.Type, L.Extents, L.Size});
    else
      for (uint64_t I = 0; I < F.arrayElements(); ++I)
        addArrays(F.Members, Path + subscripts(F, I), Out);
  }
}

std::vector<HandleArray> Soa::arrays(const Record &R, llvm::StringRef) const {
  std::vector<HandleArray> Out;
  addArrays(R.Fields, "", Out);
  return Out;
}

/// What a subscript of a member array of the \p Extents finds its array by, in braces. Units without headers read it: no ptrdiff_t.
static std::string pitchedBody(const std::string &Type, llvm::ArrayRef<uint64_t> Extents) {
  const std::string Out = "{\n  " + Type + " *base;\n  long long pitch; // elements from one array to the next\n";
  if (Extents.size() == 1)
    return Out + "  __host__ __device__ " + Type + " *operator[](long long k) const { return base + k * pitch; }\n}";
  uint64_t Arrays = 1;
  for (uint64_t E : Extents.drop_front())
    Arrays *= E;
  std::string Row = "Row";
  while (llvm::StringRef(Type).contains(Row)) // the program's own
    Row += "_";
  return Out + "  struct " + Row + " " + indented(pitchedBody(Type, Extents.drop_front()), 2) + ";\n  __host__ __device__ " + Row +
         " operator[](long long k) const { return {base + k * " + std::to_string(Arrays) + " * pitch, pitch}; }\n}";
}

std::string Soa::definition(const Record &R, llvm::StringRef Handle) const {
  auto Pointer = [](const Field &F, const std::string &Extents) {
    if (isPitched(F))
      return Member{"struct " + pitchedBody(F.Type, F.Extents), F.Name};
    if (F.KeepWhole && !Extents.empty()) // one array of arrays
      return Member{F.Type, "(*" + F.Name + ")" + Extents};
    return Member{F.Type, "*" + F.Name + Extents};
  };
  return std::string(GeneratedMark) + " " + R.Name + " as a structure of arrays, all in one allocation.\n" + "struct " +
         Handle.str() + " {\n" + declareMembers(R.Fields, Pointer) + "};\n";
}

} // namespace restride
