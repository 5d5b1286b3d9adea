// Loops that look for something and are written to find it soon: the slot of a
// key in a hash table or a chain, or the success of a compare-and-swap.
#pragma once

#include "ptx/flow/Induction.h"

namespace restride::ptx {

/// A branch that ends a search or lets it go on.
struct SearchTest {
  unsigned Block = 0;
  bool TakenEnds = false; ///< the taken side ends it
};

struct Search {
  /// In the order of a trip. Between such a branch and the loop's exit a flag
  /// may tell what was decided.
  std::vector<SearchTest> Tests;
  /// That a trip visits, as compilers unroll: so often it compares with the same value.
  unsigned Places = 1;
  /// The one that stands before the loop, where the compiler has rotated it.
  std::optional<SearchTest> First;
  bool Chain = false;  ///< from link to link, and not from slot to slot
  bool Insert = false; ///< a compare-and-swap takes a free slot

  /// Probability that a lane goes on after its place number \p Trip, from 1.
  ///
  /// From slot to slot of a table that is half full, as linear probing does
  /// (Knuth, The Art of Computer Programming 3, 6.4): the first slot is taken
  /// by another key with the load's probability if the key is not there, and
  /// half of it, the mean since the table was empty, if it is. Half of the keys
  /// that are looked up are taken to be there. Full slots lie in a row, so that
  /// who was not lucky goes on: the tail falls by a e^(1-a) a slot at load a.
  /// 2 places are visited in the mean, and 9.4 by the slowest of 32 lanes.
  /// Of a chain, which has no such rows, half of the lanes go on.
  double goesOn(uint64_t Trip) const;
};

/// What \p L looks for, if it is left where an integer that it loads equals, or
/// a compare-and-swap returns, a value that is the same in all trips, or for the
/// latter any value. Of loops that a count ends, too, only those whose places begin
/// anew at the end of a table: others go through a list.
std::optional<Search> searchOf(const Function &F, const ControlFlow &C, const Loop &L, const LoopInductions &Counters);

} // namespace restride::ptx
