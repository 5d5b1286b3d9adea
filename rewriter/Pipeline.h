// From options to a report: parse, find candidates, write variants, compile,
// score, choose. Writes no file; what to do with the report is the caller's.
#pragma once

#include "rewriter/command/Options.h"
#include "rewriter/decide/Report.h"

#include "llvm/Support/Error.h"

namespace restride {

/// Fails on the first file that cannot be read or parsed, or on a bad profile.
llvm::Expected<Report> runPipeline(const Options &O);

} // namespace restride
