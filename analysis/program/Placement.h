// Where generated code goes.
#pragma once

#include "analysis/program/ProgramFacts.h"

namespace restride {

/// Generated code stands behind the record, or, where only one file changes and
/// the record is not in it, before that file's first declaration that changes.
/// \p Candidates are the arrays of one record, which share their code.
void placeGeneratedCode(Program &P, llvm::ArrayRef<size_t> Candidates, const ProgramFacts &Facts, const RecordFacts &Record);

} // namespace restride
