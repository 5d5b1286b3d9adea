// Spells the members of a generated struct: the record's own shape with every
// leaf declared by a layout's rule.
#pragma once

#include "layouts/Record.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace restride {

/// Declares one leaf. \p Type is the type of one element of it, \p Extents are
/// the member array's (as "[3][2]", or empty), \p Whole says that the array
/// stays together. Returns the declarator after the type: "*x", "x[32]".
using Declarator =
    llvm::function_ref<std::string(const std::string &Name, const std::string &Extents, bool Whole)>;

/// Lines "  float *x, *y;\n": neighbours of one type share a line.
std::string declareMembers(const std::vector<Field> &Fields, Declarator Declare, unsigned Indent = 2);

} // namespace restride
