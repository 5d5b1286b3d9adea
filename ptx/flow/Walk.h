// Loops that go from element to element by what they load: through a list or a
// tree, or halving a range.
#pragma once

#include "ptx/flow/ControlFlow.h"

#include <optional>

namespace restride::ptx {

struct Walk {
  /// Only comparisons with what was loaded say where it goes on, of places that are computed: it halves a range, or
  /// goes down a tree whose nodes lie in order.
  bool Decides = false;
  /// If it decides: its comparisons, and the branches that leave it, which go by where it is and not by data.
  std::vector<unsigned> Plain;
};

/// What loop \p L is if an address in it follows from what an earlier trip
/// loaded, by data flow. Branches on loaded data do not count.
std::optional<Walk> walkOf(const Function &F, const ControlFlow &C, const Loop &L);

/// \p L lays what it loads, or what follows from what it takes, on a stack in local memory, and goes on where it finds
/// what it takes from there: a tree, whose top all threads of a warp go through.
bool walksByStack(const Function &F, const ControlFlow &C, const Loop &L);

} // namespace restride::ptx
