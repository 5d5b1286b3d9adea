// Registers that a loop changes by the same amount on every trip, and the exit
// test on one of them. Compilers count up, count down, step byte pointers, copy
// the counter through other registers, and test before or after the update; all
// are the one pattern "test value = first value + k * step".
#pragma once

#include "ptx/flow/ControlFlow.h"
#include "ptx/flow/Relation.h"

namespace restride::ptx {

/// What is added per trip: Constant plus the loop-invariant registers.
struct Step {
  struct Term {
    int Reg;
    bool Subtract;
  };
  int64_t Constant = 0;
  std::vector<Term> Terms;
};

/// A register that advances by \p By on every trip.
struct Induction {
  int Reg = -1;
  unsigned Bits = 32;
  Step By;
};

/// A conditional branch that leaves the loop when a counter reaches its bound.
struct ExitTest {
  unsigned Branch = 0;            ///< instruction
  unsigned Compare = 0;           ///< instruction
  int Index = -1;                 ///< register under test
  Operand Bound;                  ///< loop-invariant register or immediate
  Relation Stay = Relation::Less; ///< Index Stay Bound: another trip
  bool Signed = true;
  unsigned Bits = 32;
  Step By;           ///< of Index, per trip
  Step SinceCompare; ///< what was added to Index between Compare and Branch
  /// The register that holds the counter on entry, and what is added to it
  /// before the first test.
  int Counter = -1;
  Step BeforeTest;
  bool TestsAtTop = false; ///< the body comes after the test
};

struct LoopInductions {
  std::vector<Induction> Registers;
  std::optional<ExitTest> Test;
  std::string Why; ///< no Test: reason in words
};

LoopInductions inductions(const Function &F, const ControlFlow &C, const Loop &L);

/// How many tests after one that read \p Value, and stayed, until one leaves;
/// at least 1. None: it would wrap around or never end.
std::optional<uint64_t> tripsLeft(uint64_t Value, uint64_t Bound, int64_t StepValue, const ExitTest &T);

} // namespace restride::ptx
