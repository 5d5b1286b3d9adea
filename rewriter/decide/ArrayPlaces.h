// How an array's elements lie behind the pointers of its handle, for execution.
#pragma once

#include "analysis/program/Candidate.h"
#include "layouts/Layout.h"
#include "ptx/execute/Execute.h"

namespace restride {

constexpr unsigned WordBytes = 8;

/// A handle, or a struct, as a kernel gets it.
struct ObjectPlaces {
  ptx::KnownObject Object;             ///< pointers are not known, pitches are
  std::vector<ptx::ArrayPlace> Arrays; ///< by word of it: what lies behind a pointer; of other words, nothing
};

/// Of the handle of \p C in \p L; \p Assumed elements where nobody knows how many there are.
ObjectPlaces handlePlaces(const Candidate &C, const Layout &L, double Assumed);

/// Of an array \p C that is declared with its extent, in \p L; none of one that is too large to be described.
std::optional<ptx::ArrayPlace> declaredPlace(const Candidate &C, const Layout &L);

} // namespace restride
