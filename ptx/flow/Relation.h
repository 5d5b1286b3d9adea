// Comparisons as values: of setp, and of the test that ends a loop.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace restride::ptx {

enum class Relation : uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };

/// Instruction::Compare as a relation; \p Unsigned is set for the spellings
/// that are unsigned by themselves. Those that hold for what is no number too are
/// as the others: data are numbers, and equal to themselves. None: no such spelling.
std::optional<Relation> parseRelation(llvm::StringRef Name, bool &Unsigned);

/// !(a R b) as a relation.
Relation opposite(Relation R);
/// a R b with a and b exchanged.
Relation mirrored(Relation R);

inline uint64_t lowBits(uint64_t V, unsigned Bits) { return Bits >= 64 ? V : V & ((uint64_t(1) << Bits) - 1); }
inline int64_t signExtend(uint64_t V, unsigned Bits) {
  return Bits == 0 || Bits >= 64 ? int64_t(V) : int64_t(V << (64 - Bits)) >> (64 - Bits);
}

/// A R B.
template <typename T> bool compares(Relation R, T A, T B) {
  switch (R) {
  case Relation::Equal:
    return A == B;
  case Relation::NotEqual:
    return A != B;
  case Relation::Less:
    return A < B;
  case Relation::LessEqual:
    return A <= B;
  case Relation::Greater:
    return A > B;
  case Relation::GreaterEqual:
    return A >= B;
  }
  return false;
}

/// V R W at a width of \p Bits.
inline bool holds(Relation R, uint64_t V, uint64_t W, unsigned Bits, bool Signed) {
  V = lowBits(V, Bits);
  W = lowBits(W, Bits);
  const int64_t X = signExtend(V, Bits), Y = signExtend(W, Bits);
  return Signed ? compares(R, X, Y) : compares(R, V, W);
}

} // namespace restride::ptx
