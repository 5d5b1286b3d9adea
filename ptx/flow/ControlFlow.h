// Basic blocks, dominators and loops of a PTX function. Dominators and loops
// are LLVM's (DomTreeBase, LoopInfoBase) over our blocks; only the graph is ours.
#pragma once

#include "ptx/parse/Module.h"

#include <memory>

namespace restride::ptx {

struct Block {
  unsigned Begin = 0, End = 0;        ///< instructions [Begin, End) of Function::Body
  std::vector<unsigned> Succs, Preds; ///< block numbers; a fall-through is listed last
};

struct Loop {
  unsigned Header = 0;
  std::vector<unsigned> Blocks; ///< all, those of inner loops too
  std::vector<unsigned> Latches;
  int Parent = -1; ///< index of the enclosing loop; -1: none
  unsigned Depth = 1;
};

struct ControlFlow {
  std::vector<Block> Blocks; ///< in text order; 0 is the entry
  std::vector<int> Idom;     ///< immediate dominator of each block; -1: entry or unreachable
  /// Place of each block in a walk of the dominator tree, and the last place of
  /// the blocks it dominates; for dominates().
  std::vector<unsigned> DomFirst, DomLast;
  std::vector<int> Ipdom;  ///< immediate post-dominator; -1: function exit
  std::vector<Loop> Loops; ///< outer before inner
  std::vector<int> LoopOf; ///< innermost loop of each block; -1: none
  /// Irreducible cycles, indirect branches: what was approximated, in words.
  std::vector<std::string> Warnings;
  unsigned blockOf(unsigned Instruction) const;
  /// Whether every path to \p B goes through \p A; true for A == B.
  bool dominates(unsigned A, unsigned B) const { return DomFirst[A] <= DomFirst[B] && DomFirst[B] <= DomLast[A]; }
  /// Whether \p Block lies in loop \p Loop or in one inside it.
  bool inLoop(unsigned Block, int Loop) const;
};

ControlFlow controlFlow(const Function &F);

/// Whether a way leads from \p Block, which lies in \p L, out of it at once.
bool leavesLoop(const ControlFlow &C, const Loop &L, unsigned Block);

/// A counted loop: trips = (Bound - Start) / Step of one register.
struct TripCount {
  enum Kind { Constant, Parametric, Unknown } K = Unknown;
  int64_t Step = 0; ///< added to the induction register each trip; 0: a register's value
  int InductionRegister = -1;
  std::optional<int64_t> Start, Bound; ///< known constants
  std::optional<int64_t> Trips;        ///< Constant only
  std::string Why;                     ///< Unknown: reason in words
};

/// Reads the trip count off the loop's own exit compare and induction register,
/// as written in the text: trips are the times the body runs. For values that
/// follow from a launch, see WarpTrace::LoopTrips.
TripCount tripCount(const Function &F, const ControlFlow &C, const Loop &L);

std::string dump(const Function &F, const ControlFlow &C);

} // namespace restride::ptx
