// A pointer that has lost its type, and that nobody uses but to free what it points to.
#pragma once

#include "clang/AST/ASTContext.h"
#include "clang/AST/Expr.h"

namespace restride {

/// The value of \p E, of type `void *`, only goes where it is freed by the CUDA runtime or compared with null:
/// `for (void *p : {(void *)a, (void *)b}) cudaFree(p);`, `release(a);`.
bool onlyReleased(const clang::Expr *E, clang::ASTContext &Context);

} // namespace restride
