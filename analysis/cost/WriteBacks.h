// What DRAM takes to be written. L2 gives up lines in an order of its own, so what counts is how much of a line, and of
// the lines beside it, is written at about the same time.
#pragma once

#include "analysis/cost/DramRows.h"

#include "llvm/ADT/DenseMap.h"

#include <array>

namespace restride::cost {

/// Regular stores of neighbouring warps, at about the same time.
class WriteBacks {
public:
  WriteBacks(const ptx::Function &F, const Gpu &G) : F(F), G(G) {}

  void add(const WarpFootprint &W);

  /// By instruction, cycles of an SM for a sector: a line, however few of its sectors are written, takes as long as a
  /// whole one if one beside it is written too, and Gpu::WriteBackCycles if not. An H200 takes 3.6, 5.2, 7.2, 9.4, 11.3
  /// and 11.3 for one sector in each 64, 96, 128, 160, 256 and 1,024 bytes, where a stream takes 2.
  llvm::DenseMap<unsigned, double> take();

private:
  static constexpr size_t Enough = 1 << 14;  ///< sectors that are stored

  using Store = std::pair<uint64_t, unsigned>; ///< sector, instruction
  double lineCycles(const std::vector<Store> &Stores, size_t First, size_t End) const;

  const ptx::Function &F;
  const Gpu &G;
  std::array<std::vector<Store>, FirstExecutions> Stored;
};

} // namespace restride::cost
