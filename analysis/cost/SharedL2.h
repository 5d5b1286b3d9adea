// What L2 keeps of arrays whose granules several SMs ask for, at times of their own.
#pragma once

#include "llvm/ADT/ArrayRef.h"

namespace restride::cost {

/// One array in a launch.
struct AskedOfL2 {
  double Bytes = 0; ///< in the range that is touched
  double Asked = 0; ///< bytes that the blocks of an SM ask L2 for, for the first time
  double Again = 0; ///< and those that they ask for again
};

/// Bytes of a launch that an L2 of \p Capacity bytes asks DRAM for while \p Passing bytes are written through it. An array
/// that is asked for less than once streams; granules of others are asked for at random times, and are there if
/// L2 has not taken in its capacity since the last time (H. Che, Y. Tung, Z. Wang: Hierarchical web caching systems,
/// IEEE JSAC 20(7), 2002). What blocks ask for again is there if L2 keeps it as long as they run, \p AtATime of the launch.
double fetchedByL2(llvm::ArrayRef<AskedOfL2> Arrays, double Passing, double AtATime, double Capacity);

} // namespace restride::cost
