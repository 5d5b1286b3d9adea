#include "analysis/program/Placing.h"

#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"

using namespace clang;

namespace restride {

namespace {

class PlacingReader {
public:
  PlacingReader(const UnitFacts &Facts, std::set<const FieldDecl *> &Out) : Facts(Facts), Out(Out) {}

  void read(const Stmt *S) {
    if (const ArraySubscriptExpr *Element = dyn_cast<ArraySubscriptExpr>(S))
      return read(Element->getBase()); // which element it is says nothing of its value
    if (const MemberExpr *M = dyn_cast<MemberExpr>(S))
      if (const FieldDecl *F = dyn_cast<FieldDecl>(M->getMemberDecl()))
        Out.insert(F);
    if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(S))
      if (const VarDecl *V = dyn_cast<VarDecl>(R->getDecl()); V && Seen.insert(V).second)
        variable(V);
    for (const Stmt *Child : S->children())
      if (Child)
        read(Child);
  }

private:
  void variable(const VarDecl *V) {
    if (const ParmVarDecl *P = dyn_cast<ParmVarDecl>(V))
      for (const Expr *Given : givenTo(P, Facts))
        read(Given);
    else if (V->isLocalVarDecl() && V->getInit())
      read(V->getInit());
    if (auto At = Facts.Assigned.find(V->getLocation().getRawEncoding()); At != Facts.Assigned.end())
      for (const Expr *Given : At->second)
        read(Given);
  }

  const UnitFacts &Facts;
  std::set<const FieldDecl *> &Out;
  std::set<const VarDecl *> Seen;
};

} // namespace

void collectPlacing(const Expr *Real, const UnitFacts &Facts, std::set<const FieldDecl *> &Out) { PlacingReader(Facts, Out).read(Real); }

} // namespace restride
