// The way back: a program as it was before an earlier run, as text.
//
//   ParticleSoA p;                  Particle *p;
//   p.x[i]                          p[i].x
//   ParticleSoA_malloc(&p, bytes)   cudaMalloc(&p, bytes)
//
// It knows tokens and no types. Whether it is right is proved afterwards: what
// it gives must be rewritten to the text that it came from (RestoreProgram.h).
#pragma once

#include "analysis/program/Generated.h"
#include "rewriter/write/Edits.h"

namespace restride {

/// \p Text without \p Blocks, which lie in it, and everything that uses them as
/// it was before. Where the text does not say how it was, it gets the plainest form.
llvm::Expected<Rewritten> restore(const Sources &Text, llvm::ArrayRef<GeneratedBlock> Blocks);

/// The files of \p Text, which was written from \p From, as a program's text.
Sources sourcesOf(const Sources &From, const Rewritten &Text);

/// As if both had been made at once; \p Second is of \p Between, the text of \p First.
Rewritten compose(const Rewritten &First, const Sources &Between, Rewritten Second);

} // namespace restride
