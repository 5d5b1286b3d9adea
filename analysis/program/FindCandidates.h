// All arrays of records of one translation unit.
#pragma once

#include "analysis/program/Candidate.h"

#include "clang/AST/ASTContext.h"

namespace restride {

/// Finds every array of records that a kernel takes as `T *`, with all its uses
/// and refusals. \p Skipped are the parts of the main file that the
/// preprocessor left out: what they say is not known.
Program findCandidates(clang::ASTContext &Context, llvm::ArrayRef<Range> Skipped);

} // namespace restride
