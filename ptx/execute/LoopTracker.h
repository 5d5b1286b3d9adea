// Follows the loops that a warp is in while it executes, and scales what was
// seen of a loop that was cut short to the trips it would have made. Scaling
// happens when the warp leaves the loop, innermost first, so that nested loops
// multiply.
#pragma once

#include "ptx/execute/Program.h"

namespace restride::ptx {

class LoopTracker {
public:
  explicit LoopTracker(const Program &P);

  /// Lanes go from \p From (-1: the function's start) to \p To.
  void enter(int From, unsigned To);
  /// The warp executes \p Block once, after \p Requests requests.
  void visit(unsigned Block, size_t Requests);
  /// Times the body of loop \p L has run since it was entered, the current
  /// trip included when its test comes after the body.
  uint64_t trips(int L) const;
  /// Loop \p L leaves now, with \p Left trips still to go.
  void cut(int L, uint64_t Left);
  /// Loop \p L was seen to count, or to end on data instead.
  void markCounted(int L) { States[L].Counted = true; }
  void markDataBranch(int L);
  /// Whether a branch in loop \p L, or around it, went by data since it was entered.
  bool hasDataBranch(int L) const { return States[L].DataBranch; }
  void markDataExit(int L) { States[L].DataExit = true; }
  /// A limit on effort ends loop \p L, and lanes would have stayed: as long as when the warp was in it before.
  void hurry(int L);
  bool endsByData(int L) const { return States[L].DataExit; }
  /// Loop \p L, or one around it, is a walk between its first trip and trip \p Start.
  bool walksBefore(int L, uint64_t Start) const;
  /// Trips of the innermost loop around loop \p L, or of that itself, that descends; 0: none does.
  uint8_t level(int L) const;
  /// No lane is left in loop \p L, nor in any inside it.
  void leave(int L);
  bool isActive(int L) const { return States[L].Active; }
  /// Ends all loops, when execution stops inside them, and moves what was seen to \p Trace.
  void finish(WarpTrace &Trace);

private:
  bool isWalk(int L) const;

  struct State {
    bool Active = false, Counted = false, DataExit = false, DataBranch = false;
    uint64_t HeaderVisits = 0; ///< since it was entered
    double Scale = 1, TrueTrips = 0;
    std::vector<double> Visits; ///< per block of the loop, since it was entered
  };
  const Program &P;
  std::vector<State> States;
  std::vector<LoopTrips> Totals;
  std::vector<std::vector<TripStart>> Starts;
  std::vector<double> Weights;
};

} // namespace restride::ptx
