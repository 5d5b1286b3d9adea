// What a variable or a member of a struct holds where it is read.
#pragma once

#include "analysis/program/Uses.h"

namespace restride {

/// The value that reaches \p Use of a local variable on the only way to it: the
/// last assignment or initialisation before it in the same block. Null where
/// that is not plain to see.
const clang::Expr *reachingValue(const clang::DeclRefExpr *Use, const UnitFacts &Facts, clang::ASTContext &Context);

} // namespace restride
