// A report for people: diagnostics as Clang prints them, and for each array a
// table of predicted cycles and where they come from.
#pragma once

#include "rewriter/decide/Report.h"

#include "llvm/Support/raw_ostream.h"

namespace restride {

/// "array of 'P' ('p') is faster as soa: ...".
std::string finding(const Report::Candidate &C, llvm::StringRef Gpu);

void printText(const Report &R, llvm::raw_ostream &OS);

} // namespace restride
