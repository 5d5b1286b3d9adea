// Pointers in structs of which only some objects' move: the others keep the
// member, and a member beside it takes what moves.
//
//   struct Data {            struct Data {
//     P *p;                    P *p;
//     int n;                   PSoA p_soa;
//   };                         int n;
//                            };
//   device.p[i].x            device.p_soa.x[i]

#include "rewriter/write/SiteEdits.h"

#include "llvm/ADT/STLExtras.h"

namespace restride {

static const Move *moveOf(int Candidate, llvm::ArrayRef<const Move *> Moves) { return Candidate < 0 ? nullptr : Moves[Candidate]; }

/// All objects' members become the same.
static bool movesAsOne(const Member &M, llvm::ArrayRef<const Move *> Moves) {
  const Move *First = moveOf(M.Candidates.front(), Moves);
  return First && llvm::all_of(M.Candidates, [&](int C) { return moveOf(C, Moves) && moveOf(C, Moves)->Handle == First->Handle; });
}

std::vector<Declaration> placeMembers(const Program &P, llvm::ArrayRef<const Move *> Moves) {
  std::vector<Declaration> Out = P.Declarations;
  for (Declaration &D : Out)
    for (Declarator &One : D.Declarators)
      if (One.Member >= 0 && movesAsOne(P.Members[One.Member], Moves))
        One.Candidate = P.Members[One.Member].Candidates.front();
  return Out;
}

static std::string nameBeside(const Member &M, const Move &To, const std::vector<std::string> &Taken) {
  std::string Name = M.Name + "_" + To.L.suffix().lower(), Free = Name;
  for (unsigned I = 2; llvm::is_contained(Taken, Free); ++I)
    Free = Name + std::to_string(I);
  return Free;
}

/// On a line of its own where the line ends at \p At.
static std::string line(llvm::StringRef Source, unsigned At, const std::string &Text) {
  if (At < Source.size() && Source[At] != '\n' && Source[At] != '\r')
    return " " + Text;
  size_t Before = Source.rfind('\n', At ? At - 1 : 0);
  llvm::StringRef Line = Source.substr(Before == llvm::StringRef::npos ? 0 : Before + 1);
  return "\n" + Line.take_while([](char C) { return C == ' ' || C == '\t'; }).str() + Text;
}

std::vector<Edit> memberEdits(const Program &P, llvm::ArrayRef<const Move *> Moves) {
  std::vector<Edit> Out;
  llvm::StringRef Source = P.Text.text();
  for (unsigned I = 0; I < P.Members.size(); ++I) {
    const Member &M = P.Members[I];
    if (movesAsOne(M, Moves))
      continue;
    std::set<std::string> Written;
    for (int C : M.Candidates) {
      const Move *To = moveOf(C, Moves);
      if (!To)
        continue;
      std::string Name = nameBeside(M, *To, P.Identifiers);
      // What sizeof is of is replaced as a whole.
      auto InSize = [&](const Range &R) { return llvm::any_of(To->C.Sizes, [&](const SizeOf &S) { return S.Operand.contains(R); }); };
      for (const MemberName &Use : To->C.MemberNames)
        if (Use.Member == int(I) && Use.Name && !InSize(*Use.Name))
          Out.push_back({*Use.Name, {Name}});
      if (!Written.insert(Name).second)
        continue;
      for (const Declaration &D : P.Declarations)
        for (const Declarator &One : D.Declarators)
          if (One.Member == int(I))
            Out.push_back({{M.After, M.After}, {line(Source, M.After, besideDeclarator(D, One, *To, Name, Source))}});
    }
  }
  return Out;
}

} // namespace restride
