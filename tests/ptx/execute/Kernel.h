// A kernel to execute one warp of.
#pragma once

#include "tests/ptx/Inputs.h"

#include "ptx/execute/Execute.h"

namespace restride::ptx::test {

/// Bytes from the begin of one pointer's range to that of the next.
constexpr uint64_t Range = uint64_t(1) << 40;

/// A function and what execution needs of it.
struct Kernel {
  Function F;
  ControlFlow C;
  explicit Kernel(Function Of) : F(std::move(Of)), C(controlFlow(F)) {}
  WarpTrace run(const LaunchFacts &L = {}, unsigned Block = 3, unsigned Warp = 2,
                const ExecuteLimits &Limits = {}) const {
    return execute(F, C, L, {Block, 0, 0}, Warp, Limits);
  }
};

} // namespace restride::ptx::test
