#include "layouts/Members.h"

namespace restride {

std::string indented(llvm::StringRef Text, unsigned Indent) {
  std::string Out;
  for (char C : Text) {
    Out += C;
    if (C == '\n')
      Out.append(Indent, ' ');
  }
  return Out;
}

std::string declareMembers(const std::vector<Field> &Fields, MemberRule Declare, unsigned Indent) {
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
    const Member M = Declare(F, Extents);
    // "int *a, b" would declare one pointer only.
    bool Joins = M.Type == OpenType && M.Type.find('*') == std::string::npos;
    if (!Joins) {
      Close();
      Out += Pad + indented(M.Type, Indent) + " ";
      OpenType = M.Type;
    } else {
      Out += ", ";
    }
    Out += M.Declarator;
  }
  Close();
  return Out;
}

} // namespace restride
