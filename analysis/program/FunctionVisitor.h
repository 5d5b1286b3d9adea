// Walks over declarations that know the function they are in.
#pragma once

#include "clang/AST/DynamicRecursiveASTVisitor.h"

namespace restride {

/// Knows the function it is in, and whether that is a template's pattern.
class FunctionVisitor : public clang::DynamicRecursiveASTVisitor {
public:
  FunctionVisitor() { ShouldVisitTemplateInstantiations = true; }
  bool TraverseDecl(clang::Decl *D) override {
    if (!D || D->isImplicit())
      return !D || !llvm::isa<clang::CXXRecordDecl>(D) || clang::DynamicRecursiveASTVisitor::TraverseDecl(D);
    const clang::FunctionDecl *Outer = Function;
    if (const clang::FunctionDecl *F = llvm::dyn_cast<clang::FunctionDecl>(D))
      Function = F;
    bool Go = clang::DynamicRecursiveASTVisitor::TraverseDecl(D);
    Function = Outer;
    return Go;
  }

protected:
  bool inTemplate() const { return Function && Function->isDependentContext(); }
  const clang::FunctionDecl *Function = nullptr;
};

} // namespace restride
