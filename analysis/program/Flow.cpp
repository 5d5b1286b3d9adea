#include "analysis/program/Flow.h"

using namespace clang;

namespace restride {

const CXXRecordDecl *trackedPointee(QualType T, const SourceView &View) {
  T = T.getNonReferenceType();
  if (!T->isPointerType())
    return nullptr;
  const CXXRecordDecl *D = T->getPointeeType()->getAsCXXRecordDecl();
  if (!D || !D->hasDefinition() || D->isLambda())
    return nullptr;
  D = D->getDefinition();
  return View.isUserCode(D->getLocation()) ? D : nullptr;
}

NodeId Flow::make(const NamedDecl *D, bool Result, const CXXRecordDecl *Record) {
  SourceLocation L = D->getLocation();
  std::string Name = D->getNameAsString();
  auto [At, New] = Ids.try_emplace({L.getRawEncoding(), Result}, Facts.size());
  if (New) {
    Parent.push_back(At->second);
    NodeFacts &F = Facts.emplace_back();
    F.Record = Record->getCanonicalDecl();
    F.Name = Name;
    const Decl *Around = Result ? cast<Decl>(D) : dyn_cast<Decl>(D->getDeclContext());
    if (const FunctionDecl *Function = dyn_cast_or_null<FunctionDecl>(Around)) {
      F.Function = Function->getNameAsString();
      F.Scope = View.range(Function->getSourceRange());
    }
    F.Where = View.where(L);
  } else if (Facts[At->second].Record != Record->getCanonicalDecl()) {
    // One declaration, two record types: a template over the record.
    refuse(At->second, L, "'" + Name + "' is declared for several record types by a template");
  }
  return At->second;
}

std::optional<NodeId> Flow::node(const ValueDecl *D) {
  if (!isa<VarDecl, FieldDecl>(D))
    return std::nullopt;
  const CXXRecordDecl *Record = trackedPointee(D->getType(), View);
  if (!Record || !View.isUserCode(D->getLocation()))
    return std::nullopt;
  return make(D, false, Record);
}

std::optional<NodeId> Flow::result(const FunctionDecl *F) {
  const CXXRecordDecl *Record = trackedPointee(F->getReturnType(), View);
  if (!Record || !View.isUserCode(F->getLocation()))
    return std::nullopt;
  return make(F, true, Record);
}

NodeId Flow::root(NodeId A) const {
  while (Parent[A] != A)
    A = Parent[A] = Parent[Parent[A]];
  return A;
}

void Flow::unite(NodeId A, NodeId B) {
  A = root(A), B = root(B);
  if (A == B)
    return;
  if (Facts[A].Record != Facts[B].Record)
    Facts[A].Sites.Refusals.push_back({"", Facts[B].Where, "'" + Facts[B].Name + "' holds records of another type"});
  Parent[std::max(A, B)] = std::min(A, B);
}

void Flow::refuse(NodeId A, SourceLocation L, std::string Reason, std::string Layout) {
  Facts[A].Sites.Refusals.push_back({std::move(Layout), View.where(L), std::move(Reason)});
}

} // namespace restride
