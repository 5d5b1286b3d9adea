// Which fields of a record could lie together, from how its kernels use them.
#pragma once

#include "analysis/cost/Score.h"
#include "layouts/Grouped.h"
#include "rewriter/write/Variant.h"

namespace restride {

/// Names of fields, group by group.
using Grouping = std::vector<std::vector<std::string>>;

/// What a kernel does with a field.
struct KernelUse {
  double Requests = 0; ///< of warps in all launches
  bool Writes = false;
};

/// By field and kernel. "*" is a whole element.
using FieldUse = std::map<std::string, std::map<std::string, KernelUse>>;

/// Few groupings of \p R, the most promising first: fields that the same kernels
/// use, or that they write, whole or in parts that fill 16 or 8 bytes; the much used
/// apart from the little used. None of them is the record as a whole, or only single fields.
std::vector<Grouping> groupings(const Record &R, const FieldUse &Use);

} // namespace restride
