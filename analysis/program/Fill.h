// Integers that the host writes into an array before kernels read it, entry by
// entry: `next[i] = (i + 1) % n`. Kernels use them as indices and as bounds of loops,
// so how they lie says what a gather costs.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace restride {

/// One step of a formula. Its operands stand before it.
struct FillNode {
  enum class Op : uint8_t {
    Constant, ///< Value
    Counter,  ///< of the loop numbered Value
    Unknown,  ///< any number of the type: a call that is not followed, data from elsewhere
    Add, Sub, Mul, Div, Rem, And, Or, Xor, Shl, Shr,
    Less, Equal, ///< 0 or 1
    Select,      ///< A ? B : C
    Convert,     ///< A in the type
  };
  Op What = Op::Constant;
  uint8_t Bits = 64; ///< of the result's type
  bool Signed = true;
  int64_t Value = 0;
  uint32_t A = 0, B = 0, C = 0; ///< indices of nodes
  uint32_t Varies = ~0u;        ///< Unknown: the loops, as bits, of which another trip has another number
};

/// A loop around the statement that writes: its counter is First + Step * trip.
struct FillLoop {
  int64_t First = 0, Step = 1;
  uint64_t Trips = 0;
  int64_t Stride = 0; ///< bytes that a trip moves by in the array; none is negative
};

struct Fill {
  unsigned Word = 0; ///< of the pointer in the struct that is the parameter, in 8 bytes, from 1; 0: it is the parameter
  uint64_t Begin = 0; ///< of the first integer written, bytes from the array's begin
  unsigned Bytes = 4; ///< of one integer
  std::vector<FillLoop> Loops; ///< the one with the largest stride first
  std::vector<FillNode> Nodes; ///< the last one is the value
  /// Any number: drawn at random, or exchanged with others until it is.
  bool Shuffled = false;
  /// Neighbouring entries lead to places far apart.
  bool Scattered = false;
  bool Guessed = false; ///< it only stands for one that lies as near its place
  bool Below = false;   ///< some number below the value, which is all that is known
  double Stays = 1;     ///< the share of them that kernels leave as the host begins with them

  /// The trips that write the integer at \p Offset; none: another one does, or nobody.
  std::optional<std::vector<uint64_t>> tripsAt(uint64_t Offset) const;
  /// The integer at \p Offset is still what the host began with, as so many are.
  bool holdsAt(uint64_t Offset) const;
  /// It says the same of all of them, wherever they are exchanged to.
  bool holdsAnywhere() const { return Below || (Nodes.size() == 1 && Nodes[0].What == FillNode::Op::Constant); }
  /// What they write. What is unknown is a pseudo-random number, the same for the same trips.
  int64_t value(const std::vector<uint64_t> &Trips) const;
};

/// Of neighbouring entries, more than half lead to places of their own, 32 entries wide.
bool isScattered(const Fill &F);

/// The node that computes \p F's value depends on something unknown without a bound:
/// it says nothing about the value.
bool isUnbounded(llvm::ArrayRef<FillNode> Nodes);

} // namespace restride
