// Arrays and records that functions of the host make for their callers: `h = makeParticles(n);`.
#pragma once

#include "analysis/program/HostWrites.h"

namespace restride {

/// What a function of the program makes and returns: a variable of its own, or `{x, y}`; null: something else.
const clang::Expr *returnedBy(const clang::CallExpr *C);

/// The array of its own that the function called by \p E returns, or of which \p E, a container, is a copy; null: not plain to see.
const clang::ValueDecl *madeAs(const clang::Expr *E, const UnitFacts &Facts);

/// By array: those that it begins as, in the order of the source.
using MadeArrays = std::map<const clang::ValueDecl *, std::vector<const clang::ValueDecl *>>;

/// What was written into those that an array begins as was written into it, before all else.
void addWritesOfMade(MadeArrays Made, HostWrites &Host);

} // namespace restride
