// A program with some of its arrays in other layouts: the edits, as values.
#pragma once

#include "rewriter/write/Edits.h"
#include "rewriter/write/HelperCode.h"

namespace restride {

/// A layout for each candidate, by its index; the original where it stays.
using Plan = std::vector<const Layout *>;

/// Why \p C cannot take \p L; nothing if it can.
std::optional<Refusal> refusalOf(const Candidate &C, const Layout &L);

/// Fails only if a site is not what the analysis promised: a candidate with a
/// refusal must not be in the plan.
llvm::Expected<Rewritten> writeVariant(const Program &P, const Plan &Layouts);

/// The candidate keeps its record type, which is aligned where it is defined.
bool alignsInPlace(const Program &P, const Plan &Layouts, size_t Candidate);

} // namespace restride
