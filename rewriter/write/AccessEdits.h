// How accesses to elements are spelled in a layout.
#pragma once

#include "rewriter/write/SiteEdits.h"

namespace restride {

/// The pointer of an element.
Pieces base(const Element &E);

/// The index without what stands for a parameter's place where that is a
/// pointer or reference to the element still.
Index indexFor(const Move &M, const Element &E);

/// The index as an expression. A sum is formed in 64 bits, as pointer
/// arithmetic would: "(ptrdiff_t)i + k".
Pieces index(const Index &I, bool AsOperand);

/// The element where it is a record still.
Pieces element(const Move &M, const Element &E);

/// A call of a helper function.
Pieces call(const std::string &Function, std::initializer_list<Pieces> Arguments);

std::optional<Edit> accessEdit(const Move &M, const Access &A, HelperNeeds &Needs);
std::optional<Edit> memberCallEdit(const Move &M, const MemberCall &C, HelperNeeds &Needs);

} // namespace restride
