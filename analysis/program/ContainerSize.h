// Which std::vector an expression means, and which calls give it elements.
#pragma once

#include "clang/AST/ExprCXX.h"

namespace restride {

/// The variable or member of a container's type that \p E names; null: it names none.
const clang::ValueDecl *containerOf(const clang::Expr *E);

/// The same of the container that \p C, push_back or resize or the like, gives elements.
const clang::ValueDecl *resizedBy(const clang::CXXMemberCallExpr *C);

} // namespace restride
