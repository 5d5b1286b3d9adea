// Where host expressions lead: to which array, and to which bytes of it.
#pragma once

#include "analysis/program/Uses.h"

namespace restride {

/// Where a host expression stores, as an offset in an array.
struct HostPlace {
  const clang::ValueDecl *Array = nullptr; ///< a variable, or a member of all objects
  std::vector<std::pair<const clang::Expr *, int64_t>> Indices; ///< and the bytes of one step
  int64_t Offset = 0; ///< bytes
};

/// The place that the lvalue \p E names: `h[i].field`, also through references and pointers to elements.
std::optional<HostPlace> placeOf(const clang::Expr *E, const UnitFacts &Facts, const clang::ASTContext &Context);

/// The array that the pointer \p E leads to: `h.data()`, `&h[0]`, a parameter that all
/// calls give the same, the object that keeps the pointer where it does nothing else; null: not plain to see.
const clang::ValueDecl *arrayOf(const clang::Expr *E, const UnitFacts &Facts);
/// The one array that the parameter, pointer or reference \p V leads to; else \p V.
const clang::ValueDecl *arrayOf(const clang::VarDecl *V, const UnitFacts &Facts);

/// \p F is a pointer, and the only one in its class: an object of it stands for the array.
bool isPointerInClass(const clang::FieldDecl *F);

/// A container of the C++ library whose elements lie side by side.
bool isContainer(clang::QualType T);

/// \p E without parentheses, casts and temporaries.
const clang::Expr *withoutCasts(const clang::Expr *E);

/// The record or container that \p E is, or is a copy of.
const clang::Expr *withoutCopies(const clang::Expr *E);

/// Its name where it is a plain one; else empty, as of operators and null.
llvm::StringRef identifierOf(const clang::NamedDecl *D);

} // namespace restride
