// `void *upload(const void *from, size_t bytes)`: functions of the user's that give out device memory.
#pragma once

#include "analysis/program/SourceView.h"

#include "clang/AST/Decl.h"

namespace restride {

/// The parameter that says how many bytes of device memory \p F returns: fresh ones, which it has no other name for, or null.
/// It copies or sets what lies there, and changes nothing else that its callers see. Null where it is no such function.
const clang::ParmVarDecl *allocatedBytes(const clang::FunctionDecl *F, const SourceView &View, clang::ASTContext &Context);

} // namespace restride
