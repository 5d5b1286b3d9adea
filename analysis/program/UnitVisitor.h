// The two walks over a translation unit: declarations and plain facts first,
// uses of tracked pointers second.
#pragma once

#include "analysis/program/Declarations.h"
#include "analysis/program/Uses.h"

namespace restride {

struct Unit {
  std::vector<clang::Decl *> Scope; ///< top-level declarations the user wrote
  std::vector<const clang::FunctionDecl *> Kernels; ///< definitions; instantiations, no templates
  UnitFacts Facts;
};

/// Nodes, declarations, kernels, modified variables, arguments.
void collectDeclarations(Unit &U, const SourceView &View, Flow &Graph, DeclarationTable &Table, clang::ASTContext &Context);
void collectMemberValues(Unit &U, clang::ASTContext &Context);
/// Sites, and the unions that follow from uses.
void collectUses(Unit &U, const SourceView &View, Flow &Graph, clang::ASTContext &Context);

} // namespace restride
