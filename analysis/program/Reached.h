// Which arrays functions of the host work on that do so for their callers, call by
// call: `T *upload(const std::vector<T> &v)`, `DeviceBuffer<T> cells(n)`.
#pragma once

#include "analysis/program/Uses.h"

namespace restride {

/// Calls and constructions (CXXConstructExpr) on the way to a statement, the innermost first.
using CallPath = llvm::SmallVector<const clang::Expr *, 4>;

struct Reached {
  const clang::ValueDecl *Array = nullptr;
  CallPath Calls;
};

/// The arrays that the pointer \p E, in the function \p In, leads to. Of a pointer that the function is given, returns, or
/// keeps in its object, one for each call that is seen.
std::vector<Reached> reachedBy(const clang::Expr *E, const clang::FunctionDecl *In, const UnitFacts &Facts, clang::ASTContext &Context);

/// The array that the pointer \p E leads to when its function is called by the first of \p Calls; null: not plain to see.
const clang::ValueDecl *arrayIn(llvm::ArrayRef<const clang::Expr *> Calls, const clang::Expr *E, const UnitFacts &Facts);

} // namespace restride
