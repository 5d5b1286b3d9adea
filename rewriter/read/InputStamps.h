// Whether the files and folders that something was made from are as they were.
// A stamp has the status of a file and a hash of its contents. A file whose
// status is the same was not written to; one with a new status counts by its
// contents.
#pragma once

#include "rewriter/command/RunInputs.h"

#include "llvm/ADT/StringRef.h"

#include <chrono>
#include <optional>

namespace restride {

using Time = std::chrono::system_clock::time_point;

/// What \p Inputs are like now, for changedInput; see Packed.h.
std::string stampsOf(const RunInputs &Inputs);

/// Takes what stampsOf wrote off \p From. Nothing where all inputs are as they
/// were; else the name of one that is not, which is empty for broken stamps.
std::optional<std::string> changedInput(llvm::StringRef &From);

/// One of \p Files that was written since \p Begin: it may have been read before
/// or after that.
std::optional<std::string> writtenSince(const std::set<std::string> &Files, Time Begin);

} // namespace restride
