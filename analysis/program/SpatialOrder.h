// How records that the host fills lie in space: particles on a lattice, rows of a grid, or anywhere.
#pragma once

#include "analysis/program/Candidate.h"
#include "analysis/program/Evaluate.h"
#include "analysis/program/HostWrites.h"

namespace restride {

/// Of the host's \p Array of \p Element, by the fields that kernels make cells of. On a lattice these follow from counters, and
/// at most a little beside them, so that records that are near each other in the array are near each other in space;
/// at random from a random generator. Unknown: neither, or there are none.
SpatialOrder spatialOrder(const clang::ValueDecl *Array, clang::QualType Element, const HostWrites &Host, const Evaluator &Values,
                          const UnitFacts &Facts, clang::ASTContext &Context);

} // namespace restride
