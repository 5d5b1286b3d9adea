// Accesses and calls that an earlier run wrote, as they were before.
#pragma once

#include "rewriter/write/HandleUses.h"

namespace restride {

/// p.x[i], p[i >> 5].x[i & 31], p.g0[i].x: p[i].x again.
std::vector<Edit> accessesBefore(const HandleUses &U);

/// PSoA_malloc(&d, bytes): cudaMalloc(&d, bytes) again; and f(p, i): f(p + i).
std::vector<Edit> callsBefore(const HandleUses &U);

} // namespace restride
