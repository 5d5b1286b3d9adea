// Granules of one DRAM row that are asked for at about the same time are served one after the other, as in a stream;
// one that is alone in its row waits until the row is opened.
#pragma once

#include "analysis/cost/Footprint.h"
#include "analysis/cost/Gpu.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <array>

namespace restride::cost {

/// Sectors of what DRAM fetches at least.
inline uint64_t granuleSectors(const Gpu &G) { return uint64_t(std::max(1.0, G.DramGranule / SectorBytes)); }

/// How far \p Granule is alone if \p Next is the next one asked for. 0: that follows, 1: the row is opened for this one
/// alone. An H200 reads one granule of each 128, 256, 512 and 1,024 bytes at 0.9, 0.65, 0.6 and 0.55 of a stream's rate,
/// and at 0.93, 0.86, 0.76 and 0.7 if threads go on with the granules between.
double aloneInRow(uint64_t Granule, uint64_t Next, const Gpu &G);

/// Rows that \p Granules, asked for together, are in: the last one's, and of each other as much as it is alone. Sorts
/// them, each once.
double rowsOf(std::vector<uint64_t> &Granules, const Gpu &G);

constexpr unsigned FirstExecutions = 2;

/// Calls \p Each with regular requests of the first executions of each instruction, and the number of the execution:
/// what warps ask for in the same one they ask for at about the same time.
void firstRequests(const WarpFootprint &W, llvm::function_ref<void(unsigned, const RequestFootprint &)> Each);

/// How far apart the granules lie that neighbouring warps ask for at about the same time; regular accesses only.
class RowScatter {
public:
  explicit RowScatter(const Gpu &G) : G(G) {}

  void add(const WarpFootprint &W);

  /// By instruction, mean of aloneInRow. Of long kernels it is that of the first warps.
  llvm::DenseMap<unsigned, double> take();

private:
  static constexpr size_t Enough = 1 << 14;  ///< granules that are asked for

  const Gpu &G;
  using Ask = std::pair<uint64_t, unsigned>; ///< granule, instruction
  /// Of one execution of each instruction.
  struct Asks {
    llvm::DenseMap<unsigned, std::vector<uint64_t>> Of; ///< granules, by instruction
    size_t Count = 0;                                   ///< in all, but for the same one after the other
    Ask Last = {~uint64_t(0), 0};
  };
  std::array<Asks, FirstExecutions> Asked;
};

} // namespace restride::cost
