// The member functions that a candidate's calls need, as values.
#pragma once

#include "analysis/program/Flow.h"

namespace restride {

/// Keeps nested records whole on which a member function works that cannot be
/// written a second time. \p Record is C.Type's index in Flow::records().
void keepPartsWhole(Candidate &C, unsigned Record, const Flow &Graph);

/// Fills C.Methods; calls, which name nodes, name its entries from now on. All
/// arrays of the record get the same methods, since they may share a handle.
void addMethods(Candidate &C, unsigned Record, const Flow &Graph);

} // namespace restride
