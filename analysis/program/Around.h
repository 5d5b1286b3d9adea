// What a statement stands in.
#pragma once

#include "clang/AST/ASTContext.h"

namespace restride {

/// Loops of the function that \p S is run by, the innermost first; not those that macros wrap statements in,
/// do { ... } while (0).
llvm::SmallVector<const clang::Stmt *, 4> loopsAround(const clang::Stmt *S, clang::ASTContext &Context);

/// The function, or lambda, whose body \p S stands in; null: none.
const clang::FunctionDecl *functionAround(const clang::Stmt *S, clang::ASTContext &Context);

} // namespace restride
