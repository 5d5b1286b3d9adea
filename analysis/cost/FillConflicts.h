// Stores to lines that loads are fetching.
//
// L2 holds such a store back until the line is there, and with it what comes behind.
// So it is with a store that does not wait for what is loaded before it, and with one
// in front of which ptxas has placed loads that follow it (LateLoads.h). A store that
// waits for data which was asked for together with its line finds the line there, too.
// One store waits for a line, and later ones find it.
#pragma once

#include "analysis/cost/CriticalPath.h"
#include "analysis/cost/NumberMap.h"
#include "analysis/cost/Reuse.h"

namespace restride::cost {

/// One warp's store.
struct StoreRequest {
  unsigned Instruction;
  unsigned Packets; ///< packetsOf(Touches)
  llvm::ArrayRef<SectorTouch> Touches;
  bool Random = false; ///< its address depends on loaded data
};

class FillConflicts {
public:
  FillConflicts(const IssueOrder &Order, const Gpu &G) : Order(Order), Least(leastOf(G)) {}

  /// Load \p Instruction of this burst fetches \p Line from \p From.
  void fetched(unsigned Instruction, uint64_t Line, Wait From) { Fills.push_back({Instruction, Line, From}); }

  /// Ends a warp's burst, of \p Stores: adds up the conflicts of these and of \p Late in \p Sums, by instruction.
  /// \p Late: the warp's stores before, that loads of this burst may be in front of; becomes those of this burst.
  void endBurst(llvm::ArrayRef<StoreRequest> Stores, std::vector<StoreRequest> &Late,
                llvm::MutableArrayRef<AccessReuse> Sums);

private:
  struct Fill {
    unsigned Instruction;
    uint64_t Line;
    Wait From;
  };
  void count(const StoreRequest &S, double Weight, llvm::function_ref<bool(unsigned)> IsInFront, AccessReuse &A);

  static double leastOf(const Gpu &G);

  const IssueOrder &Order;
  const double Least; ///< ConflictSectorCycles of a request that meets a line from DRAM
  std::vector<Fill> Fills; ///< of this burst
  NumberMap Lines;         ///< of those in front of a store, and the Wait for them
  NumberMap Awaited;       ///< those that a store has waited for
};

} // namespace restride::cost
