// Which std::vector an expression means, and which calls give it elements.
#pragma once

#include "clang/AST/ExprCXX.h"

#include <optional>

namespace restride {

/// The variable or member that \p E is; null: an expression gives it, or it is the object around.
const clang::ValueDecl *namedBy(const clang::Expr *E);

/// The variable or member of a container's type that \p E names; null: it names none.
const clang::ValueDecl *containerOf(const clang::Expr *E);

/// The container that the one that \p E is lies in, as an element: `lists` of `lists[i]`; null: it is no such.
const clang::ValueDecl *outerContainerOf(const clang::Expr *E);

/// How many elements every object of the type has; none: it is no array.
std::optional<uint64_t> extentOf(clang::QualType T, const clang::ASTContext &Context);

/// The same of the container that \p C, push_back or resize or the like, gives elements.
const clang::ValueDecl *resizedBy(const clang::CXXMemberCallExpr *C);
/// Of an element of a container, that container.
const clang::ValueDecl *resizedInsideBy(const clang::CXXMemberCallExpr *C);

/// \p C, one of these calls, gives one more.
bool appends(const clang::CXXMemberCallExpr *C);
/// It takes all of them.
bool clears(const clang::CXXMemberCallExpr *C);

/// `while (v.size() < n)`: what is filled, and up to where.
struct SizeLimit {
  const clang::ValueDecl *Container = nullptr;
  const clang::Expr *Limit = nullptr;
};
std::optional<SizeLimit> sizeLimit(const clang::WhileStmt *While);

} // namespace restride
