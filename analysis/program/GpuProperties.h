// What host code asks the runtime of the GPU. Grids are made from it: blocks for each SM, so many SMs.
#pragma once

#include "analysis/program/Uses.h"

namespace restride {

/// The member \p F of cudaDeviceProp, on a large GPU of today; none: it is another one.
std::optional<int64_t> gpuProperty(const clang::FieldDecl *F);

/// The same of a variable that cudaDeviceGetAttribute writes.
std::optional<int64_t> gpuAttribute(const clang::VarDecl *V, const UnitFacts &Facts, clang::ASTContext &Context);

} // namespace restride
