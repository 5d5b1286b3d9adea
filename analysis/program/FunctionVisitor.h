// Walks over declarations that know the function they are in.
#pragma once

#include "clang/AST/RecursiveASTVisitor.h"

namespace restride {

/// Knows the function it is in, and whether that is a template's pattern.
template <typename Derived> class FunctionVisitor : public clang::RecursiveASTVisitor<Derived> {
public:
  bool shouldVisitTemplateInstantiations() const { return true; }
  bool TraverseDecl(clang::Decl *D) {
    if (!D || D->isImplicit())
      return !D || !llvm::isa<clang::CXXRecordDecl>(D) || clang::RecursiveASTVisitor<Derived>::TraverseDecl(D);
    const clang::FunctionDecl *Outer = Function;
    if (const clang::FunctionDecl *F = llvm::dyn_cast<clang::FunctionDecl>(D))
      Function = F;
    bool Go = clang::RecursiveASTVisitor<Derived>::TraverseDecl(D);
    Function = Outer;
    return Go;
  }

protected:
  bool inTemplate() const { return Function && Function->isDependentContext(); }
  const clang::FunctionDecl *Function = nullptr;
};

} // namespace restride
