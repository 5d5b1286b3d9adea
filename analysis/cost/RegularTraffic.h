// What regular accesses, those whose addresses do not follow from loaded data, ask of DRAM: they stream. Neighbouring
// blocks share granules, and what L2 keeps is not fetched again.
#pragma once

#include "analysis/cost/Gpu.h"
#include "analysis/cost/LoopSteps.h"
#include "analysis/cost/Reuse.h"
#include "analysis/cost/Sampling.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>

namespace restride::cost {

/// Union of byte ranges, one per memory instruction, of addresses that are not random.
class Ranges {
public:
  explicit Ranges(const ptx::Function &F) : F(F), Of(F.Body.size()) {}

  /// \p Unseen: by instruction, what loops that were cut short would touch besides.
  void add(const WarpFootprint &W, llvm::ArrayRef<Reach> Unseen,
           llvm::function_ref<bool(const ptx::Instruction &)> Counts);

  double bytes() const;
  /// The same of each pointer.
  std::map<uint64_t, double> bytesByPointer() const;
  /// Of what instruction \p I accesses; 0: nothing.
  uint64_t pointerOf(unsigned I) const;

  /// Between the first and the last of one warp, by pointer.
  double bytesOfWarp() const;

private:
  struct Range {
    uint64_t Low = ~0ull, High = 0; ///< sectors
    bool operator<(const Range &O) const { return Low < O.Low; }
  };
  const ptx::Function &F;
  std::vector<Range> Of;
  std::vector<double> Spans; ///< of each warp
};

/// Of warps all over the grid.
struct TouchedRanges {
  explicit TouchedRanges(const ptx::Function &F) : Reads(F), Writes(F), All(F) {}
  void add(const WarpFootprint &W, llvm::ArrayRef<Reach> Unseen);
  Ranges Reads, Writes, All;
};

struct RegularTraffic {
  double ReadBytes = 0, WriteBytes = 0; ///< per warp and launch
  double FillShare = 0;                 ///< of WriteBytes: in sectors that are written in part, and read first
  double MissShare = 1;                 ///< of what an earlier launch or block touched, that L2 no longer holds
  double Regions = 1;                   ///< over 1 MB apart, that neighbouring blocks read and write
  double ReadScatter = 0;               ///< 0: as of a stream, 1: each granule alone in its DRAM row
  double SectorWriteCycles = 0;         ///< of an SM, for each sector that L2 writes back
};

/// \p Launches of the kernel on the same data, of which the first fetches what L2 keeps.
RegularTraffic regularTraffic(const ptx::Function &F, const WarpRunner &Runner, const Sample &S, const Reuse &L1,
                              const Gpu &G, const TouchedRanges &Touched, double Launches,
                              const ptx::ExecuteLimits &Limits);

} // namespace restride::cost
