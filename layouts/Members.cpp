#include "layouts/Members.h"

namespace restride {

std::string declareMembers(const std::vector<Field> &Fields, Declarator Declare, unsigned Indent) {
  std::string Out, OpenType, Pad(Indent, ' ');
  auto Close = [&] {
    if (!OpenType.empty())
      Out += ";\n";
    OpenType.clear();
  };
  for (const Field &F : Fields) {
    std::string Extents;
    for (uint64_t E : F.Extents)
      Extents += "[" + std::to_string(E) + "]";
    if (!F.Members.empty()) {
      Close();
      Out += Pad + "struct {\n" + declareMembers(F.Members, Declare, Indent + 2) + Pad + "} " + F.Name + Extents + ";\n";
      continue;
    }
    // "int *a, b" would declare one pointer only.
    bool Joins = F.Type == OpenType && F.Type.find('*') == std::string::npos;
    if (!Joins) {
      Close();
      Out += Pad + F.Type + " ";
      OpenType = F.Type;
    } else {
      Out += ", ";
    }
    Out += Declare(F.Name, Extents, F.KeepWhole);
  }
  Close();
  return Out;
}

} // namespace restride
