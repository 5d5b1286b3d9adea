// Executes the integer part of a PTX function for the 32 lanes of one warp, to
// see the addresses it touches. Symbolic normal forms break on the shifts,
// masks, fix-ups and divergence of real PTX; executing does not.
//
// Floating-point values and loaded data are not computed. A loaded value is a
// leaf: the same address gives the same pseudo-random value, each lane its own.
// A branch that depends on a leaf follows `LeafBranch`.
#pragma once

#include "ptx/ControlFlow.h"

#include <array>
#include <functional>

namespace restride::ptx {

struct Dim3 {
  uint32_t X = 1, Y = 1, Z = 1;
  uint64_t count() const { return uint64_t(X) * Y * Z; }
  bool operator==(const Dim3 &) const = default;
};

/// What is known or assumed about one launch.
struct LaunchFacts {
  Dim3 Grid{1024, 1, 1}, Block{256, 1, 1};
  uint64_t DynamicSharedBytes = 0;
  /// By source parameter position: value of an integer argument. A missing
  /// integer argument has the value DefaultInteger.
  std::vector<std::optional<int64_t>> Arguments;
  int64_t DefaultInteger = 4096;
  /// Elements behind pointers: loaded 32- and 64-bit integers fall in [0, Elements).
  uint64_t Elements = 1u << 22;
};

/// One warp-wide memory instruction as it was executed.
struct Request {
  unsigned Instruction = 0;            ///< index in Function::Body
  uint32_t Mask = 0;                   ///< lanes that took part
  std::array<uint64_t, 32> Address{};  ///< bytes; synthetic bases, one 1<<40 range per pointer
  bool DependsOnLoad = false;          ///< the address comes from loaded data (indirect)
};

struct WarpTrace {
  std::vector<Request> Requests;       ///< in program order; global, generic, shared, local
  std::vector<uint64_t> Executions;    ///< per instruction: times issued (warp-wide, any lane)
  /// Per instruction: lanes active, summed over executions (for divergence).
  std::vector<uint64_t> ActiveLanes;
  std::vector<uint64_t> BlockVisits;   ///< per basic block
  bool Truncated = false;              ///< a limit was hit; counts are of the part that ran
  std::vector<std::string> Warnings;   ///< what was approximated, in words, deduplicated
};

struct ExecuteLimits {
  uint64_t MaxRequests = 3000;
  uint64_t MaxInstructions = 400000;
  /// Trips after which a loop whose exit depends on loaded or float data leaves.
  uint64_t DataLoopTrips = 16;
};

/// Runs warp \p Warp of block \p BlockIndex. Lanes reconverge at the smallest
/// program counter. A branch on loaded or floating data is taken by a
/// pseudo-random half of the lanes, except that one which leaves the function
/// (a guard) is not taken.
WarpTrace execute(const Function &F, const ControlFlow &C, const LaunchFacts &L,
                  Dim3 BlockIndex, unsigned Warp, const ExecuteLimits &Limits);

} // namespace restride::ptx
