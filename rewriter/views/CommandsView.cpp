#include "rewriter/views/CommandsView.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace restride {
using namespace llvm;

/// "a.cu", "a.cu and b.cu", "a.cu and 7 more files".
static std::string spellFiles(ArrayRef<std::string> Files) {
  if (Files.size() == 1)
    return Files[0];
  if (Files.size() == 2)
    return Files[0] + " and " + Files[1];
  return Files[0] + " and " + std::to_string(Files.size() - 1) + " more files";
}

static std::string describe(const Report::Unit &U) {
  std::string Out = "read for " + U.Arch;
  if (U.Archs.size() > 1)
    Out += " of " + join(U.Archs, ", ");
  else if (U.Archs.empty())
    Out += ", as no GPU is named";
  else if (U.Archs[0] != U.Arch)
    Out += ", as Clang does not know " + U.Archs[0];
  return U.Dropped.empty() ? Out : Out + "; without the flags " + join(U.Dropped, " ");
}

void printCommands(const Report &R, raw_ostream &OS) {
  std::vector<std::pair<std::string, std::vector<std::string>>> Alike; // in the order of the files
  for (const Report::Unit &U : R.Units) {
    std::string How = describe(U);
    auto At = find_if(Alike, [&](const auto &Known) { return Known.first == How; });
    if (At == Alike.end())
      At = Alike.insert(At, {How, {}});
    At->second.push_back(U.File);
  }
  for (const auto &[How, Files] : Alike)
    OS << "restride: " << spellFiles(Files) << ": " << How << '\n';
  if (!R.Toolkit.empty())
    OS << "restride: " << R.Toolkit << '\n';
}

} // namespace restride
