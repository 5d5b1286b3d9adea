// Sites that were met more than once, joined.
#pragma once

#include "analysis/program/Candidate.h"

namespace restride {

/// Drops what instantiations of one template repeat, and refuses text that
/// reads differently in two of them.
void dropRepeats(Candidate &C);

/// Makes one call of the two sides of a device-to-device copy.
void joinCopies(Candidate &C);

} // namespace restride
