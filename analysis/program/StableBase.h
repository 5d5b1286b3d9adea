// An element's other name, `T &r = grid.cells[i]`, may become an index only if the
// pointer it stands on stays what it is while that name can be used.
#pragma once

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"

namespace restride {

/// The names that \p Base, a pointer, is reached by, `cells` before `grid` in `grid.cells`; none for
/// what is neither a variable nor a member of one.
llvm::SmallVector<const clang::ValueDecl *, 4> namesOf(const clang::Expr *Base);

/// The variable or, of `this`, the member that \p Base, a pointer, is reached from:
/// `grid` in `grid.cells`. Null for what is neither a variable nor a member of one.
const clang::ValueDecl *rootOf(const clang::Expr *Base);

/// Nothing that runs from the declaration of \p Alias to the end of its block changes
/// \p Base: neither the statements there nor, as far as their bodies can be seen, the
/// functions that they call. Device code may only read the object that holds it.
bool staysWhile(const clang::Expr *Base, const clang::VarDecl *Alias, clang::ASTContext &Context);

} // namespace restride
