// The nodes of members, object by object.

#include "analysis/program/Flow.h"

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/STLExtras.h"

using namespace clang;

namespace restride {

/// Plain data: its objects are made, copied and changed only in ways that the
/// source spells out.
static bool isPlain(const CXXRecordDecl *D) {
  if (D->isUnion() || D->getNumBases() || !D->isTrivial() || !D->isAggregate() || D->isDependentContext() ||
      isa<ClassTemplateSpecializationDecl>(D) || D->getTemplateInstantiationPattern())
    return false;
  return llvm::all_of(D->methods(), [](const CXXMethodDecl *M) { return M->isImplicit(); });
}

const CXXRecordDecl *Flow::holder(const CXXRecordDecl *D) {
  D = D && D->hasDefinition() ? D->getDefinition() : nullptr;
  if (!D || scalars()) // numbers of all objects go the same way
    return nullptr;
  auto [At, New] = IsHolder.try_emplace(D, false);
  if (New)
    At->second = View->isUserCode(D->getLocation()) && isPlain(D) && llvm::any_of(D->fields(), [&](const FieldDecl *F) { return node(F).has_value(); }) &&
                 llvm::none_of(D->fields(), [&](const FieldDecl *F) { return pointersTo(F, *View) != nullptr; });
  return At->second ? D : nullptr;
}

std::vector<NodeId> Flow::members(const ValueDecl *Object) {
  const FunctionDecl *F = dyn_cast<FunctionDecl>(Object);
  const VarDecl *V = dyn_cast<VarDecl>(Object);
  if ((!F && !V) || (V && isa<DecompositionDecl, VarTemplateSpecializationDecl>(V)) || !View->isUserCode(Object->getLocation()))
    return {};
  QualType T = F ? F->getReturnType() : V->getType();
  const CXXRecordDecl *D = T->isReferenceType() || T.isVolatileQualified() ? nullptr : holder(T->getAsCXXRecordDecl());
  if (!D)
    return {};
  // All declarations of a variable, a parameter and a function are one object, in
  // all units that can see it.
  std::string Symbol;
  if (const ParmVarDecl *P = dyn_cast_or_null<ParmVarDecl>(V)) {
    F = dyn_cast<FunctionDecl>(P->getDeclContext());
    if (!F)
      return {};
    V = F->getFirstDecl()->getParamDecl(P->getFunctionScopeIndex());
    Symbol = F->isExternallyVisible() ? function(F) + "#" + std::to_string(P->getFunctionScopeIndex()) : "";
  } else if (F) {
    Symbol = F->isExternallyVisible() ? function(F) + "#result" : "";
  } else if (V->hasGlobalStorage() && !V->isStaticLocal()) {
    Symbol = symbolOf(V);
  }
  Place At = View->place(V ? V->getCanonicalDecl()->getLocation() : F->getFirstDecl()->getLocation());
  Holder &H = holderOf(D);
  std::vector<NodeId> Out;
  for (const FieldDecl *Field : D->fields()) {
    std::optional<NodeId> Member = node(Field);
    if (!Member)
      continue;
    NodeId Here = make(Field->getLocation(), V ? OfVariable : OfResult, Facts[*Member].Record, Field->getNameAsString(), nullptr, At);
    if (H.Members[*Member].insert(Here).second && !Symbol.empty())
      link(Here, Symbol + "." + Facts[Here].Name);
    Out.push_back(Here);
  }
  return Out;
}

std::optional<NodeId> Flow::node(const Expr *E) {
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E))
    return node(R->getDecl());
  if (const ArraySubscriptExpr *A = dyn_cast<ArraySubscriptExpr>(E)) {
    const Expr *Base = A->getBase()->IgnoreParenImpCasts();
    std::optional<NodeId> Array = isa<DeclRefExpr, MemberExpr>(Base) ? node(Base) : std::nullopt;
    return Array && Facts[*Array].Several ? Array : std::nullopt;
  }
  if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E); U && U->getOpcode() == UO_Deref) {
    const Expr *Address = U->getSubExpr()->IgnoreParenImpCasts();
    std::optional<NodeId> Pointer = isa<DeclRefExpr>(Address) ? node(Address) : std::nullopt;
    return Pointer && Facts[*Pointer].ByAddress ? Pointer : std::nullopt;
  }
  const MemberExpr *M = dyn_cast<MemberExpr>(E);
  std::optional<NodeId> Member = M ? node(M->getMemberDecl()) : std::nullopt;
  const FieldDecl *F = Member ? dyn_cast<FieldDecl>(M->getMemberDecl()) : nullptr;
  const CXXRecordDecl *Type = F ? holder(dyn_cast<CXXRecordDecl>(F->getParent())) : nullptr;
  if (!Type)
    return Member;
  const DeclRefExpr *Object = M->isArrow() ? nullptr : dyn_cast<DeclRefExpr>(M->getBase()->IgnoreParens());
  std::vector<NodeId> Members = Object ? members(Object->getDecl()) : std::vector<NodeId>();
  if (Members.empty()) {
    merge(Type);
    return Member;
  }
  for (NodeId N : Members)
    if (holderOf(Type).Members[*Member].count(N))
      return N;
  return Member;
}

} // namespace restride
