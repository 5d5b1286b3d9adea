#include "analysis/program/Lattice.h"

#include "analysis/program/IndexOrigin.h"

using namespace clang;

namespace restride {

bool liesOnLattice(const ValueDecl *Array, const HostWrites &Host, const Evaluator &Values, const UnitFacts &Facts, ASTContext &Context) {
  if (Host.Shuffled.count(Array))
    return false;
  return llvm::count_if(writesByOffset(Array, Host, &HostWrites::Reals), [&](const auto &One) {
           std::vector<const Expr *> Given;
           for (const HostWrite *W : One.second)
             Given.push_back(W->Value);
           return indexOrigin(Given, Host, Values, Facts, Context) == IndexOrigin::Counted;
         }) >= 2;
}

} // namespace restride
