#include "rewriter/views/Table.h"

#include "llvm/Support/Format.h"

#include <cmath>

namespace restride {
using namespace llvm;

size_t Table::width(size_t Column) const {
  size_t Width = 0;
  for (const std::vector<std::string> &Row : Rows)
    Width = std::max(Width, Row[Column].size());
  return Width;
}

size_t Table::width() const {
  size_t Width = 0;
  for (size_t I = 0; !Rows.empty() && I < Rows.front().size(); ++I)
    Width += 2 + width(I);
  return Width;
}

void Table::print(raw_ostream &OS) const {
  for (const std::vector<std::string> &Row : Rows) {
    std::string Line;
    for (size_t I = 0; I < Row.size(); ++I) {
      std::string Space(width(I) - Row[I].size(), ' ');
      Line += "  " + (I < Left ? Row[I] + Space : Space + Row[I]);
    }
    OS << StringRef(Line).rtrim() << '\n';
  }
}

std::string spellCount(double N) {
  if (!std::isfinite(N))
    return "?";
  static constexpr const char *Units[] = {"", "k", "M", "G", "T", "P"};
  size_t Unit = 0;
  // 999.5 would be rounded to 1000.
  while (N >= 999.5 && Unit + 1 < std::size(Units)) {
    N /= 1000;
    ++Unit;
  }
  int Digits = Unit == 0 || N >= 99.95 ? 0 : N >= 9.995 ? 1 : 2;
  std::string Text;
  raw_string_ostream(Text) << format("%.*f", Digits, N) << Units[Unit];
  return Text;
}

} // namespace restride
