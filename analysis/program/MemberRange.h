// How large the integers are that programs put into the members of records: `item.state = h % 5`.
#pragma once

#include "analysis/program/Evaluate.h"

namespace restride {

/// The largest number that any function, of the host or the device, gives \p Member, if each says so; none of them is
/// taken to be negative. None: something else changes it, or the number is as large as its type allows.
std::optional<uint64_t> largestGiven(const clang::FieldDecl *Member, const Evaluator &Values, const UnitFacts &Facts, clang::ASTContext &Context);

} // namespace restride
