// Spells the members of a generated struct: the record's own shape with every
// leaf declared by a layout's rule.
#pragma once

#include "layouts/Record.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace restride {

/// A leaf as it is declared: "float", "*x".
struct Member {
  std::string Type, Declarator;
};

/// Declares one leaf. \p Extents are the member array's (as "[3][2]", or empty).
using MemberRule = llvm::function_ref<Member(const Field &F, const std::string &Extents)>;

/// Lines "  float *x, *y;\n": neighbours of one type share a line.
std::string declareMembers(const std::vector<Field> &Fields, MemberRule Declare, unsigned Indent = 2);

/// \p Text with \p Indent blanks before each line but the first.
std::string indented(llvm::StringRef Text, unsigned Indent);

} // namespace restride
