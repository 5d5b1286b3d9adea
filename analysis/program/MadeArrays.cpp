#include "analysis/program/MadeArrays.h"

#include "analysis/program/Returned.h"

#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace restride {

const Expr *returnedBy(const CallExpr *C) {
  const FunctionDecl *F = C->getDirectCallee();
  const Expr *Returned = F && !F->isInStdNamespace() ? lastReturned(F) : nullptr;
  const Expr *Out = Returned ? withoutCopies(Returned) : nullptr;
  return Out && isa<DeclRefExpr, InitListExpr>(Out) ? Out : nullptr;
}

const ValueDecl *madeAs(const Expr *E, const UnitFacts &Facts) {
  E = withoutCopies(E);
  const CallExpr *C = dyn_cast<CallExpr>(E);
  if (!C)
    return isContainer(E->getType()) && isa<DeclRefExpr, MemberExpr>(E) ? arrayOf(E, Facts) : nullptr;
  const FunctionDecl *F = C->getDirectCallee();
  if (F && F->isInStdNamespace())
    return identifierOf(F) == "move" && C->getNumArgs() == 1 ? madeAs(C->getArg(0), Facts) : nullptr;
  const DeclRefExpr *R = dyn_cast_or_null<DeclRefExpr>(returnedBy(C));
  const VarDecl *V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
  return V && V->isLocalVarDecl() ? V : nullptr;
}

static void addWritesOfMade(const ValueDecl *Array, MadeArrays &Made, HostWrites &Host) {
  const auto At = Made.find(Array);
  if (At == Made.end())
    return;
  const std::vector<const ValueDecl *> All = std::move(At->second);
  Made.erase(At); // those that begin as each other are looked at once
  for (const ValueDecl *From : llvm::reverse(All)) {
    if (From == Array)
      continue;
    addWritesOfMade(From, Made, Host);
    for (HostWrites::ByArray HostWrites::*Which : {&HostWrites::Writes, &HostWrites::Reals})
      if (const auto Writes = (Host.*Which).find(From); Writes != (Host.*Which).end()) {
        const std::vector<HostWrite> Begin = Writes->second;
        std::vector<HostWrite> &Own = (Host.*Which)[Array];
        Own.insert(Own.begin(), Begin.begin(), Begin.end());
      }
    for (std::set<const ValueDecl *> HostWrites::*Which : {&HostWrites::Unclear, &HostWrites::Shuffled})
      if ((Host.*Which).count(From))
        (Host.*Which).insert(Array);
  }
}

void addWritesOfMade(MadeArrays Made, HostWrites &Host) {
  while (!Made.empty())
    addWritesOfMade(Made.begin()->first, Made, Host);
}

} // namespace restride
