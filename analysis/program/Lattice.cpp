#include "analysis/program/Lattice.h"

#include "analysis/program/IndexOrigin.h"

using namespace clang;

namespace restride {

/// What the fields at each byte of \p Array's elements get, also by way of an object that is stored as a whole.
static void collect(const ValueDecl *Array, int64_t Offset, const HostWrites &Host, std::map<int64_t, std::vector<const Expr *>> &Out) {
  if (const auto At = Host.Reals.find(Array); At != Host.Reals.end())
    for (const HostWrite &W : At->second)
      Out[Offset + W.Place.Offset].push_back(W.Value);
  const auto Whole = Host.Writes.find(Array);
  for (const HostWrite &W : Whole == Host.Writes.end() ? std::vector<HostWrite>() : Whole->second)
    if (const DeclRefExpr *Object = dyn_cast_or_null<DeclRefExpr>(W.Value); Object && Object->getType()->isRecordType() && Object->getDecl() != Array)
      collect(Object->getDecl(), Offset + W.Place.Offset, Host, Out);
}

bool liesOnLattice(const ValueDecl *Array, const HostWrites &Host, const Evaluator &Values, const UnitFacts &Facts, ASTContext &Context) {
  std::map<int64_t, std::vector<const Expr *>> ByOffset;
  if (!Host.Shuffled.count(Array))
    collect(Array, 0, Host, ByOffset);
  return llvm::count_if(ByOffset, [&](const auto &One) {
           return indexOrigin(One.second, Host, Values, Facts, Context) == IndexOrigin::Counted;
         }) >= 2;
}

} // namespace restride
