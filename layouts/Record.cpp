#include "layouts/Record.h"

namespace restride {

std::string subscripts(const Field &F, uint64_t I) {
  std::string Out;
  for (size_t D = F.Extents.size(); D-- > 0; I /= F.Extents[D])
    Out = "[" + std::to_string(I % F.Extents[D]) + "]" + Out;
  return Out;
}

static void addLeaves(const Field &F, const std::string &Prefix, uint64_t Base, std::vector<Leaf> &Out);

/// One array element of \p F (or F itself, where it is no array) at \p Base.
static void addElement(const Field &F, const std::string &Path, uint64_t Base, uint64_t Size,
                       std::vector<Leaf> &Out) {
  if (F.Members.empty()) {
    std::string Extents;
    if (F.KeepWhole)
      for (uint64_t E : F.Extents)
        Extents += "[" + std::to_string(E) + "]";
    Out.push_back({Path, F.Type, Extents, Base, Size, F.Align});
    return;
  }
  for (const Field &M : F.Members)
    addLeaves(M, Path, Base, Out);
}

static void addLeaves(const Field &F, const std::string &Prefix, uint64_t Base, std::vector<Leaf> &Out) {
  std::string Path = Prefix + "." + F.Name;
  uint64_t Begin = Base + F.Offset;
  if (F.Extents.empty() || F.KeepWhole) {
    addElement(F, Path, Begin, F.Size, Out);
    return;
  }
  uint64_t N = F.arrayElements(), Size = F.Size / N;
  for (uint64_t I = 0; I < N; ++I)
    addElement(F, Path + subscripts(F, I), Begin + I * Size, Size, Out);
}

std::vector<Leaf> leaves(const Record &R) {
  std::vector<Leaf> Out;
  for (const Field &F : R.Fields)
    addLeaves(F, "", 0, Out);
  return Out;
}

} // namespace restride
