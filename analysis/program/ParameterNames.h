// Where a template's text names its type parameters.
#pragma once

#include "analysis/program/Owners.h"

#include "clang/AST/DynamicRecursiveASTVisitor.h"

#include <set>

namespace restride {

class ParameterNames : public clang::DynamicRecursiveASTVisitor {
public:
  explicit ParameterNames(unsigned Depth) : Depth(Depth) {}
  bool VisitTemplateTypeParmTypeLoc(clang::TemplateTypeParmTypeLoc L) override {
    if (L.getTypePtr()->getDepth() == Depth)
      Found.push_back({L.getTypePtr()->getIndex(), L.getNameLoc()});
    return true;
  }
  bool VisitTypeLoc(clang::TypeLoc T) override {
    clang::TypeLoc Of;
    if (clang::PointerTypeLoc P = T.getAs<clang::PointerTypeLoc>())
      Of = P.getPointeeLoc();
    else if (clang::ArrayTypeLoc A = T.getAs<clang::ArrayTypeLoc>())
      Of = A.getElementLoc();
    else if (clang::TemplateSpecializationTypeLoc S = T.getAs<clang::TemplateSpecializationTypeLoc>(); S && S.getNumArgs() && isOwnerTemplate(S.getTypePtr()->getTemplateName().getAsTemplateDecl()))
      if (const clang::TypeSourceInfo *First = S.getArgLoc(0).getArgument().getKind() == clang::TemplateArgument::Type ? S.getArgLoc(0).getTypeSourceInfo() : nullptr)
        Of = First->getTypeLoc();
    if (clang::TemplateTypeParmTypeLoc L = Of ? Of.getUnqualifiedLoc().getAs<clang::TemplateTypeParmTypeLoc>() : clang::TemplateTypeParmTypeLoc())
      if (L.getTypePtr()->getDepth() == Depth)
        PointedTo.insert(L.getTypePtr()->getIndex());
    return true;
  }
  bool VisitIfStmt(clang::IfStmt *S) override {
    Constexpr |= S->isConstexpr();
    return true;
  }

  std::vector<std::pair<unsigned, clang::SourceLocation>> Found;
  std::set<unsigned> PointedTo; ///< by their names
  bool Constexpr = false;

private:
  unsigned Depth;
};

} // namespace restride
