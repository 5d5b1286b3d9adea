// The integers that the host writes into one of its arrays, as formulas of the place.
#pragma once

#include "analysis/program/Evaluate.h"
#include "analysis/program/Fill.h"
#include "analysis/program/HostWrites.h"

namespace restride {

/// What the host writes into \p Array, whose elements are \p Element, and no device code.
std::vector<Fill> fillsOf(const clang::ValueDecl *Array, clang::QualType Element, const HostWrites &Host, const Evaluator &Values,
                          const UnitFacts &Facts, clang::ASTContext &Context);

/// What it writes into the integer at byte \p Offset of each element, whoever changes that later.
std::vector<Fill> firstFillsOf(const clang::ValueDecl *Array, clang::QualType Element, int64_t Offset, const HostWrites &Host, const Evaluator &Values,
                               const UnitFacts &Facts, clang::ASTContext &Context);

} // namespace restride
