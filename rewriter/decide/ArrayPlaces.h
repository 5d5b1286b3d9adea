// How an array's elements lie behind the pointers of its handle, for execution.
#pragma once

#include "analysis/program/Candidate.h"
#include "layouts/Layout.h"
#include "ptx/execute/Execute.h"

namespace restride {

/// A handle, by word of 8 bytes.
struct HandlePlaces {
  std::vector<ptx::ArrayPlace> Arrays; ///< behind pointers; of other words, nothing
  ptx::KnownObject Words;              ///< as the kernel gets them: pointers are not known, pitches are
};

/// Of the handle of \p C in \p L; \p Assumed elements where nobody knows how many there are.
HandlePlaces handlePlaces(const Candidate &C, const Layout &L, double Assumed);

} // namespace restride
