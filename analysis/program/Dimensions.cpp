// Grids and blocks of launches: integers and dim3.
#include "analysis/program/Evaluate.h"
#include "analysis/program/PartUse.h"

#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace restride {

/// What is first assigned to the variable's member number \p Field.
const Expr *Evaluator::assignedMember(const VarDecl *V, uint64_t Field) const {
  auto At = Facts.Modified.find(V->getLocation().getRawEncoding());
  for (const DeclRefExpr *R : At == Facts.Modified.end() ? std::vector<const DeclRefExpr *>() : At->second)
    if (const PartUse Use = partUse(R, Field, Context); Use.K == PartUse::Kind::Assigns && Use.Known == 1)
      return Use.Value;
  return nullptr;
}

std::optional<Estimate> Evaluator::dimension(const MemberExpr *M, Frame In) const {
  const Expr *Base = M->getBase()->IgnoreParenImpCasts();
  const CXXRecordDecl *Type = Base->getType()->getAsCXXRecordDecl();
  if (!Type || !Type->getDeclName().isIdentifier() || Type->getName() != "dim3" || !M->getMemberDecl()->getDeclName().isIdentifier())
    return std::nullopt;
  size_t I = llvm::StringRef("xyz").find(M->getMemberDecl()->getName());
  uint64_t Sizes[3] = {0, 0, 0};
  bool Assumed = false;
  if (I < 3 && In.Depth < MaxDepth)
    dimensions(Base, Sizes, Assumed, In.deeper());
  return I < 3 && Sizes[I] ? std::optional(Estimate{int64_t(Sizes[I]), Assumed}) : std::nullopt;
}

void Evaluator::dimensionsInAll(llvm::ArrayRef<const Expr *> Given, uint64_t Out[3], bool &Assumed, Frame In) const {
  Assumed |= Given.empty();
  for (const Expr *E : Given) {
    uint64_t Each[3] = {0, 0, 0};
    dimensions(E, Each, Assumed, In);
    for (unsigned I = 0; I < 3; ++I)
      Out[I] = E == Given.front() || Out[I] == Each[I] ? Each[I] : 0;
  }
}

void Evaluator::dimensions(const Expr *E, uint64_t Out[3], bool &Assumed, Frame In) const {
  E = E->IgnoreUnlessSpelledInSource()->IgnoreParenImpCasts();
  auto Set = [&](unsigned I, const Expr *Value) {
    std::optional<Estimate> V = integer(Value, In.deeper());
    Out[I] = V && V->Value > 0 ? V->Value : 0;
    Assumed |= !V || V->Assumed;
  };
  if (E->getType()->isRealFloatingType()) { // ceil(n / 256.0)
    std::optional<RealEstimate> V = real(E, In.deeper());
    Out[0] = V && V->Value >= 1 && V->Value < 1e18 ? uint64_t(V->Value) : 0;
    Assumed |= !V || V->Assumed;
    Out[1] = Out[2] = 1;
    return;
  }
  if (E->getType()->isIntegralOrEnumerationType()) {
    Set(0, E);
    Out[1] = Out[2] = 1;
    return;
  }
  if (In.Depth > MaxDepth) {
    Assumed = true;
    return;
  }
  if (const CallExpr *C = dyn_cast<CallExpr>(E)) // grid_for(n, block)
    if (const Expr *Returned = formulaOf(C))
      return dimensions(Returned, Out, Assumed, intoCall(C, In));
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E)) {
    const VarDecl *V = dyn_cast<VarDecl>(R->getDecl());
    if (const ParmVarDecl *P = dyn_cast<ParmVarDecl>(R->getDecl())) {
      if (const Expr *Given = In.argument(P))
        return dimensions(Given, Out, Assumed, In.around());
      return dimensionsInAll(givenTo(P, Facts), Out, Assumed, In.deeper());
    }
    if (V && V->getAnyInitializer())
      dimensions(V->getAnyInitializer(), Out, Assumed, In.deeper());
    for (unsigned I = 0; V && I < 3; ++I) // dim3 grid; grid.x = n / 256;
      if (const Expr *Value = assignedMember(V, I))
        Set(I, Value);
    if (V && V->getAnyInitializer())
      return;
  }
  if (const MemberExpr *M = dyn_cast<MemberExpr>(E))
    if (const FieldDecl *F = dyn_cast<FieldDecl>(M->getMemberDecl()))
      return dimensionsInAll(givenTo(F, Facts), Out, Assumed, In.deeper());
  if (const CXXFunctionalCastExpr *C = dyn_cast<CXXFunctionalCastExpr>(E))
    return dimensions(C->getSubExpr(), Out, Assumed, In.deeper());
  llvm::SmallVector<const Expr *, 3> Values;
  if (const CXXConstructExpr *C = dyn_cast<CXXConstructExpr>(E)) {
    if (C->getConstructor()->isCopyOrMoveConstructor())
      return dimensions(C->getArg(0), Out, Assumed, In.deeper());
    Values.append(C->arg_begin(), C->arg_end());
  } else if (const InitListExpr *L = dyn_cast<InitListExpr>(E)) {
    Values.append(L->inits().begin(), L->inits().end());
  } else {
    Assumed = true;
    return;
  }
  for (unsigned I = 0; I < 3; ++I) {
    Out[I] = 1;
    if (I < Values.size() && !isa<CXXDefaultArgExpr>(Values[I]))
      Set(I, Values[I]);
  }
}

} // namespace restride
