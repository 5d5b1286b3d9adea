#include "analysis/cost/SharedL2.h"

#include <algorithm>
#include <cmath>

namespace restride::cost {

static bool streams(const AskedOfL2 &A) { return A.Asked <= A.Bytes; }
static double timesAsked(const AskedOfL2 &A) { return A.Asked / A.Bytes; }

/// Bytes that L2 takes in within \p Time, in launches.
static double takenIn(llvm::ArrayRef<AskedOfL2> Arrays, double Passing, double Time) {
  double Sum = Passing * Time;
  for (const AskedOfL2 &A : Arrays)
    Sum += streams(A) ? A.Asked * Time : A.Bytes * -std::expm1(-timesAsked(A) * Time);
  return Sum;
}

double fetchedByL2(llvm::ArrayRef<AskedOfL2> Arrays, double Passing, double AtATime, double Capacity) {
  double Kept = 0, TooLong = 1; // how long something stays in L2, in launches
  if (takenIn(Arrays, Passing, TooLong) < Capacity)
    Kept = TooLong;
  for (unsigned Step = 0; Kept < TooLong && Step < 20; ++Step) {
    const double Middle = (Kept + TooLong) / 2;
    (takenIn(Arrays, Passing, Middle) < Capacity ? Kept : TooLong) = Middle;
  }
  double Sum = 0;
  for (const AskedOfL2 &A : Arrays)
    Sum += (streams(A) ? A.Asked : std::max(A.Bytes, A.Asked * std::exp(-timesAsked(A) * Kept))) + A.Again * std::max(0.0, 1 - Kept / AtATime);
  return Sum;
}

} // namespace restride::cost
