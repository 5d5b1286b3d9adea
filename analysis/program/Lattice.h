// Records that the host lays out in space as its loops go: particles on a lattice, nodes of a grid.
#pragma once

#include "analysis/program/Evaluate.h"
#include "analysis/program/HostWrites.h"

namespace restride {

/// Two floating-point fields or more of the host's \p Array hold places that follow from counters, and at most a little
/// beside them: records that are near each other in it are near each other in space.
bool liesOnLattice(const clang::ValueDecl *Array, const HostWrites &Host, const Evaluator &Values, const UnitFacts &Facts, clang::ASTContext &Context);

} // namespace restride
