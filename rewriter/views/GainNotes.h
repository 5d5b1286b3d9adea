// What a layout changes where, as notes: the field, and the sectors that a request for it touches.
#pragma once

#include "rewriter/decide/Report.h"

#include <string>
#include <utility>
#include <vector>

namespace restride {

/// The accesses that gain most by the candidate's winner, the most first, each with its place.
std::vector<std::pair<Report::Place, std::string>> gainNotes(const Report::Candidate &C);

} // namespace restride
