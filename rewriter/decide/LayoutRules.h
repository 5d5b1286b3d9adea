// Which arrays the configuration's rules mean: records by their names, and
// arrays by a kernel and its parameters.
#pragma once

#include "analysis/program/ParallelArrays.h"
#include "rewriter/command/Options.h"

namespace restride {

/// With or without the record's namespace.
bool isNamed(const Candidate &C, llvm::StringRef Name);

/// Candidate \p I is what the rule's kernel gets as one of these parameters.
bool isMeant(const ArrayRule &R, size_t I, const Program &P);

/// The arrays of \p G that are parameters of the rule's kernel.
size_t meantOf(const ParallelGroup &G, const ArrayRule &R, const ArrayProgram &A);

/// An earlier run made parallel arrays of this kernel one: its parameters went with them.
bool isDone(const ArrayRule &R, const Program &P);

/// What the configuration wants of this array, or of all arrays of its record;
/// nothing where the command line asks for something.
std::optional<StructRule> ruleFor(size_t I, const Program &P, const Options &O);

} // namespace restride
