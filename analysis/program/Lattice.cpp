#include "analysis/program/Lattice.h"

#include "analysis/program/IndexOrigin.h"

using namespace clang;

namespace restride {

/// Places that loops go through one after the other: not `el[number[cell]]`, with numbers that were shuffled.
static std::vector<const Expr *> indicesOf(llvm::ArrayRef<const HostWrite *> Writes) {
  std::vector<const Expr *> Out;
  for (const HostWrite *W : Writes)
    for (auto [Index, Bytes] : W->Place.Indices)
      Out.push_back(Index);
  return Out;
}

bool liesOnLattice(const ValueDecl *Array, const HostWrites &Host, const Evaluator &Values, const UnitFacts &Facts, ASTContext &Context) {
  if (Host.Shuffled.count(Array))
    return false;
  return llvm::count_if(writesByOffset(Array, Host, &HostWrites::Reals), [&](const auto &One) {
           std::vector<const Expr *> Given;
           for (const HostWrite *W : One.second)
             Given.push_back(W->Value);
           return indexOrigin(Given, Host, Values, Facts, Context) == IndexOrigin::Counted &&
                  indexOrigin(indicesOf(One.second), Host, Values, Facts, Context) <= IndexOrigin::Counted;
         }) >= 2;
}

} // namespace restride
