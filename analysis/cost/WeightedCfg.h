// The weighted control-flow graph: how often each part of a kernel runs. A node
// is a basic block; its weight is the product of the trip counts around it and
// the probability of reaching it, in executions per warp. Cost models give each
// node a cost per visit; the kernel costs the weighted sum.
#pragma once

#include "ptx/execute/Execute.h"
#include "ptx/flow/ControlFlow.h"

namespace restride::cost {

/// What must be said of a loop: "is not counted: 16 trips are assumed".
struct LoopNote {
  ptx::SourceLocation At; ///< line 0: unknown
  std::string Text;
};

struct CfgLoop {
  unsigned Header = 0; ///< block
  int Parent = -1;     ///< index in WeightedCfg::Loops
  double Trips = 1;    ///< per entry
  bool Known = false;  ///< counted from its induction register; else as data happened to decide
  bool Runs = false;   ///< counted because runs of elements are taken to be as long as in the mean, but for what such lengths vary by
  ptx::SourceLocation At; ///< its first instruction that has a place; line 0: none has
};

struct CfgNode {
  unsigned Block = 0;
  int Loop = -1;          ///< innermost, index in WeightedCfg::Loops
  double Probability = 1; ///< of a visit per trip of its loop (per warp outside loops)
  double Weight = 0;      ///< visits per warp
  double Cost = 0;        ///< per visit, in the cost model's unit
};

struct WeightedCfg {
  std::vector<CfgNode> Nodes; ///< one per block, same numbers
  std::vector<CfgLoop> Loops; ///< one per loop, same numbers
  std::vector<LoopNote> Notes;
  double total() const;
};

/// Weights from executed warps, averaged by \p Shares, or evenly where there are none. Execution cuts counted loops short and
/// reports their true trips; a branch on loaded data took half of the lanes, so
/// that a warp executes a side of it with probability 1 - (1 - p)^32.
WeightedCfg weightedCfg(const ptx::Function &F, const ptx::ControlFlow &C,
                        llvm::ArrayRef<const ptx::WarpTrace *> Traces, llvm::ArrayRef<double> Shares = {});

/// One line per loop and node, for tests and people.
std::string dump(const ptx::Function &F, const ptx::ControlFlow &C, const WeightedCfg &G);

} // namespace restride::cost
