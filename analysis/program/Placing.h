// Floating-point members of records that device code turns into integers: places, of which it makes cells.
#pragma once

#include "analysis/program/Uses.h"

namespace restride {

/// Adds the members that the value of \p Real, which becomes an integer, follows from: `x` and `at` of
/// `float3 p = dots[i].at; int column = (int)(p.x / width);`. Also through variables and parameters.
void collectPlacing(const clang::Expr *Real, const UnitFacts &Facts, std::set<const clang::FieldDecl *> &Out);

} // namespace restride
