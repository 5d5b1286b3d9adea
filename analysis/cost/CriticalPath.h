// How long one warp takes through a kernel when nothing is in its way but its
// own dependences, with loads at the latency of where they hit.
//
// A warp issues in order, but ptxas orders the instructions first: it turns the
// branch around a few instructions into predicates and moves loads up over what
// does not concern them. So what counts is a region: blocks that follow each
// other whatever the branches do. Inside a region an instruction waits for its
// operands, and a load also for the stores before it that may write what it
// reads: nobody moves a load over those.
#pragma once

#include "analysis/cost/Gpu.h"
#include "ptx/flow/ControlFlow.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace restride::cost {

/// The blocks in regions, each in the order of execution. Every block is in one.
std::vector<std::vector<unsigned>> schedulingRegions(const ptx::Function &F, const ptx::ControlFlow &C);

/// By index in Function::Body.
struct IssueOrder {
  /// The same for what one warp can issue before any of it has come back.
  std::vector<unsigned> Segments;
  /// A store whose operands are loaded in its own segment: it is issued when these are there.
  std::vector<bool> Waits;
  /// Of such stores: loads of a later segment that are issued just before them, see LateLoads.h.
  llvm::DenseMap<unsigned, llvm::SmallVector<unsigned>> LateLoads;
  /// Stores that need not wait, behind loads of their own segment that follow them in the program.
  std::vector<bool> Passed;

  /// Whether a warp that has just issued instruction \p Last can go on with \p Next at once.
  bool together(unsigned Last, unsigned Next) const { return Segments[Last] == Segments[Next] && Last < Next; }
};

IssueOrder issueOrder(const ptx::Function &F, const ptx::ControlFlow &C);

/// Per block of \p C, the cycles by which a visit delays the last result of its
/// region. \p LoadLatency has the average latency (cycles) of each instruction
/// of the function; it is used for loads and atomics of global, generic and
/// local memory.
std::vector<double> criticalPaths(const ptx::Function &F, const ptx::ControlFlow &C,
                                  llvm::ArrayRef<double> LoadLatency, const Gpu &G);

} // namespace restride::cost
