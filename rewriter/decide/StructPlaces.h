// Structs of pointers that kernels take, as layouts make them.
#pragma once

#include "rewriter/decide/ArrayPlaces.h"
#include "rewriter/write/Variant.h"

#include <map>

namespace restride {

/// What is known of the struct \p Source, and of what its pointers lead to, by word of 8 bytes, where its arrays have the
/// layouts of the plan: \p Inside are these by the offset of their pointer in the source. Words that are no such pointers
/// keep their order. \p Assumed as handlePlaces() has it.
ObjectPlaces structPlaces(const KnownObject &Source, const std::map<uint64_t, size_t> &Inside, const Program &P, const Plan &Layouts,
                          double Assumed);

/// What is known of \p O where nobody knows how much longer its pointers are.
ptx::KnownObject aroundPointers(const KnownObject &O);

/// Leaves no more than that of structs that layouts changed in another way, with members beside them, in the kernel \p Code.
void dropOtherStructs(ptx::LaunchFacts &F, const Launch &L, const ptx::Function &Code);

} // namespace restride
