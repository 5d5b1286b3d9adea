// A report as JSON, version 1. Keys keep their order; units are in their names.
#pragma once

#include "rewriter/Report.h"

#include "llvm/Support/raw_ostream.h"

namespace restride {

void printJson(const Report &R, llvm::raw_ostream &OS);

} // namespace restride
