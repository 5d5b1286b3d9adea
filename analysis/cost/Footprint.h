// Which sectors the warps of a launch touch, in order. Warps are executed; where
// the addresses turn out to be linear in block and warp numbers, a few executed
// warps stand for all others, which is what makes simulating a whole SM cheap.
#pragma once

#include "analysis/cost/Code.h"
#include "analysis/cost/Transactions.h"

namespace restride::cost {

/// One request of global, generic or local memory.
struct RequestFootprint {
  unsigned Instruction = 0;
  uint32_t First = 0, Count = 0; ///< range in WarpFootprint::Touches
  bool Random = false;           ///< its address comes from loaded data
  bool Local = false;            ///< local memory: never leaves the SM for long
  uint8_t Level = 0;             ///< as ptx::Request's
};

struct WarpFootprint {
  std::vector<RequestFootprint> Requests;
  std::vector<SectorTouch> Touches;
  llvm::ArrayRef<SectorTouch> touches(const RequestFootprint &R) const {
    return llvm::ArrayRef(Touches).slice(R.First, R.Count);
  }
};

/// Repeatable, without a pattern that an array's width could have too.
inline uint64_t scattered(uint64_t N) { return N * 0x9E3779B97F4A7C15ull >> 40; }

class WarpRunner {
public:
  WarpRunner(const Code &C, const ptx::LaunchFacts &Facts) : F(C.F), Facts(Facts), Executor(C.Executor) {}

  uint64_t blocks() const { return std::max<uint64_t>(Facts.Grid.count(), 1); }
  unsigned warpsPerBlock() const { return std::max<uint64_t>((Facts.Block.count() + 31) / 32, 1); }

  /// Executes one warp; \p Block is linear, x fastest.
  ptx::WarpTrace run(uint64_t Block, unsigned Warp, const ptx::ExecuteLimits &Limits) const {
    return Executor.run(Facts, at(Block), Warp, Limits);
  }

  /// What \p T, of that warp, touches.
  WarpFootprint footprint(const ptx::WarpTrace &T, uint64_t Block, unsigned Warp) const;

  /// Which requests get their touches. Those of random ones take most of the
  /// time, and not everybody looks at them.
  enum class Touched { All, Regular };

  /// Executes one warp for what it touches.
  WarpFootprint footprint(uint64_t Block, unsigned Warp, const ptx::ExecuteLimits &Limits, Touched Which = Touched::All) const;

  /// All warps of \p Blocks, block by block.
  std::vector<WarpFootprint> footprints(llvm::ArrayRef<uint64_t> Blocks, const ptx::ExecuteLimits &Limits,
                                        Touched Which = Touched::All) const;

private:
  ptx::Dim3 at(uint64_t Block) const;
  uint64_t warpOf(uint64_t Block, unsigned Warp) const { return Block * warpsPerBlock() + Warp; }

  const ptx::Function &F;
  const ptx::LaunchFacts &Facts;
  const ptx::WarpExecutor &Executor;
};

} // namespace restride::cost
