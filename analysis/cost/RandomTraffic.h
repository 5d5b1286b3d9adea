// What random accesses, those whose addresses follow from loaded data, ask of DRAM: a granule each, unless L2 holds it
// by chance.
#pragma once

#include "analysis/cost/Gpu.h"
#include "analysis/cost/Reuse.h"
#include "analysis/cost/Sampling.h"

#include <map>

namespace restride::cost {

/// The 128-byte lines among which random accesses choose, by pointer. Those of one
/// field of tiles, or of large records, come in a period, and L2 holds no others.
class RandomLines {
public:
  explicit RandomLines(const Gpu &G) : G(G) {}

  void add(const WarpFootprint &W);

  /// Bytes of all lines between the first and the last, by pointer.
  double span() const;

  struct Touched {
    double Bytes = 0;           ///< of lines
    double GranulesPerLine = 1; ///< that are asked for, of a line
  };
  Touched touched() const;

  /// Probability that L2 does not hold what the levels from \p Top on of a descent ask for. A level has twice as many
  /// places as the one above, while the lines that they are in last.
  double missShareBelow(unsigned Top) const;
  unsigned levels() const { return unsigned(Levels.size()); }

private:
  struct Places {
    std::vector<uint64_t> Granules;
    double Draws = 0; ///< how many of them lie anywhere: fields of one record lie where the first one says
  };
  using ByPointer = std::map<uint64_t, Places>;
  Touched touched(const ByPointer &Seen) const;

  const Gpu &G;
  ByPointer Seen;
  std::vector<std::vector<uint64_t>> Levels; ///< granules that a descent asked for, by its level
};

/// Probability that L2 holds a granule out of so many lines. It gives up lines and fetches granules: one of a line that
/// is there may not be.
double randomHitShare(const RandomLines::Touched &Lines, const Gpu &G);

/// Per warp of the launch.
struct RandomTraffic {
  double LoadSectors = 0;         ///< distinct
  double LoadGranules = 0;        ///< distinct
  double AtomicSectors = 0;       ///< of all requests
  double AtomicDistinct = 0;      ///< of them
  double AtomicFetched = 0;       ///< of these, those that the warp does not load besides
  double AtomicGranules = 0;      ///< distinct, written back once
  double AtomicLines = 0;         ///< that these lie in
  double PartialStoreSectors = 0; ///< of all requests, to sectors that they leave partly written
  double DirtyGranules = 0;       ///< distinct, written by stores
  double LoadScatter = 1;         ///< of the granules of loads: 0 as of a stream, 1 each alone in its DRAM row
  double MissShare = 0;           ///< probability that a random granule is not in L2
  double Translations = 0;        ///< of random addresses, that the TLB does not hold
};

RandomTraffic randomTraffic(const ptx::Function &F, const Sample &S, const Reuse &L1, const RandomLines &Lines,
                            const Gpu &G, const ptx::LaunchFacts &Facts);

} // namespace restride::cost
