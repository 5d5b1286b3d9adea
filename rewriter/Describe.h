// Facts and scores as the values of a report.
#pragma once

#include "rewriter/Report.h"
#include "rewriter/Scoring.h"

namespace restride {

/// What is known of a candidate before anything is scored.
/// \p Spelled is the main file as the user typed it, \p File as the compiler did.
Report::Candidate describe(const Candidate &C, llvm::StringRef File, llvm::StringRef Spelled);
Report::Refusal describe(const Refusal &R, llvm::StringRef File, llvm::StringRef Spelled);
/// One scored variant; accesses get the lines of \p Source and field names.
Report::Variant describe(const Candidate &C, const Program &P, const Layout &L, const cost::Score &S, const Rewritten &Text,
                         llvm::StringRef Source);

} // namespace restride
