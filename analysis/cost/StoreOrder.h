// Which loads have to stay behind what. Barriers hold all of them back, and so
// does a division that the compiler makes a sequence with a branch. Stores hold
// back those that may read what was written. Two addresses are known to
// differ only if they are constants apart from one register, or one sum of two, as
// the fields of one record are; fields of separate arrays have separate base pointers, of
// which the compiler knows nothing.
#pragma once

#include "ptx/parse/Module.h"

#include "llvm/ADT/DenseMap.h"

namespace restride::cost {

/// Stores and atomics.
bool writesMemory(const ptx::Instruction &I);

/// Barriers, and sequences with a branch to a routine for special cases: nothing is moved past them.
bool splitsBlock(const ptx::Instruction &I);

class StoreOrder {
public:
  /// Cycle of the last instruction before that \p I may not pass; 0: none.
  double earliest(const ptx::Instruction &I) const;

  /// \p I follows and is issued in cycle \p Start.
  void issued(const ptx::Instruction &I, double Start);

private:
  /// A value as the distance from another one.
  struct Place {
    unsigned Root = 0;
    int64_t Offset = 0; ///< bytes
  };
  struct Write {
    Place At;
    int64_t Bytes = 0;
    ptx::Space Mem = ptx::Space::None;
    double Start = 0;
  };

  Place placeOf(int Register) const;
  void define(const ptx::Instruction &I);

  llvm::DenseMap<int, Place> Places; ///< by register
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> Sums; ///< of two roots
  std::vector<Write> Writes;
  unsigned Defined = 0;
  double Fence = 0; ///< cycle of the last barrier or sequence
};

} // namespace restride::cost
