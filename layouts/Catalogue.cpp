#include "layouts/AlignedAos.h"
#include "layouts/Aos.h"
#include "layouts/Asta.h"
#include "layouts/DeclaredSoa.h"
#include "layouts/Soa.h"

namespace restride {

llvm::ArrayRef<const Layout *> catalogue() {
  static const Aos Original;
  static const AlignedAos Align8(8), Align16(16);
  static const Soa Arrays;
  static const Asta Tile8(8), Tile16(16), Tile32(32), Tile64(64), Tile128(128);
  static const Layout *const All[] = {&Original, &Align8, &Align16, &Arrays,  &Tile8,
                                      &Tile16,   &Tile32, &Tile64,  &Tile128};
  return All;
}

const Layout &declaredForm(const Layout &L) {
  static const DeclaredSoa Arrays;
  return L.name() == Arrays.name() ? Arrays : L;
}

std::vector<llvm::StringRef> layoutNames() {
  std::vector<llvm::StringRef> Out;
  for (const Layout *L : catalogue())
    Out.push_back(L->name());
  Out.push_back("grouped");
  return Out;
}

const Layout *findLayout(llvm::StringRef Name) {
  for (const Layout *L : catalogue())
    if (L->name() == Name)
      return L;
  return nullptr;
}

std::string expandAccess(llvm::StringRef Pattern, llvm::StringRef Base, llvm::StringRef Index, llvm::StringRef Path) {
  std::string Out;
  for (size_t I = 0; I < Pattern.size(); ++I) {
    if (Pattern[I] != '$') {
      Out += Pattern[I];
      continue;
    }
    char What = Pattern[++I];
    Out += What == 'b' ? Base : What == 'i' ? Index : Path;
  }
  return Out;
}

} // namespace restride
