// How an array's elements lie behind the pointers of its handle, for execution.
#pragma once

#include "analysis/program/Candidate.h"
#include "layouts/Layout.h"
#include "ptx/execute/Execute.h"

namespace restride {

/// By pointer of the handle of \p C in \p L.
std::vector<ptx::ArrayPlace> arrayPlaces(const Candidate &C, const Layout &L);

} // namespace restride
