// Computes what one instruction does to registers: 32 lanes, what follows from
// the launch exactly, data as repeatable pseudo-random values that are marked as unknown.
#pragma once

#include "ptx/execute/Program.h"

#include "llvm/ADT/DenseMap.h"

#include <array>
#include <bit>
#include <cmath>

namespace restride::ptx {

using Lanes = std::array<uint64_t, 32>;

struct RegisterFile {
  std::vector<Lanes> Values; ///< per slot; zero-extended to the register's width
  /// Per slot, bit per lane: the value comes from loaded data.
  std::vector<uint32_t> Unknown;
  uint32_t Carry = 0; ///< bit per lane, of add.cc and sub.cc
  /// Per instruction: comparisons of one unknown value by all lanes so far.
  llvm::DenseMap<const void *, unsigned> Coins;
};

/// Of each lane the lowest bit: of a predicate, the lanes that it holds for.
inline uint32_t lowestBits(const Lanes &V) {
  uint32_t Out = 0;
  for (unsigned First = 0; First < 32; First += 8) {
    uint32_t Bits = 0; // of eight at a time, which compilers unroll
    for (unsigned L = 0; L < 8; ++L)
      Bits |= uint32_t(V[First + L] & 1) << L;
    Out |= Bits << First;
  }
  return Out;
}

/// Mixes \p X into 64 pseudo-random bits.
inline uint64_t scramble(uint64_t X) {
  X ^= X >> 31;
  X *= 0x9E3779B97F4A7C15ull;
  X ^= X >> 29;
  X *= 0xBF58476D1CE4E5B9ull;
  return X ^ (X >> 32);
}

/// The value in a register of \p Bits, 32 or 64, and the register that holds \p Value.
inline double realOf(uint64_t Word, unsigned Bits) {
  return Bits == 32 ? double(std::bit_cast<float>(uint32_t(Word))) : std::bit_cast<double>(Word);
}
inline uint64_t wordOf(double Value, unsigned Bits) {
  return Bits == 32 ? std::bit_cast<uint32_t>(float(Value)) : std::bit_cast<uint64_t>(Value);
}

/// A pseudo-random number in [0, 1) for \p X.
inline double fraction(uint64_t X) { return double(scramble(X) >> 11) * 0x1p-53; }

/// \p X % \p Count, which is mostly a power of two.
inline uint64_t remainder(uint64_t X, uint64_t Count) { return Count & (Count - 1) ? X % Count : X & (Count - 1); }

/// A pseudo-random number in [0, \p Count), taken from \p Seed.
inline uint64_t randomBelow(uint64_t Seed, uint64_t Count) { return Count ? remainder(scramble(Seed), Count) : 0; }

/// What stands for floating-point data: a pseudo-random number, and in its lowest bits how much that is known was
/// added, in 64ths and from a middle on, so that `x` and `x + 1` lead to places beside each other.
struct RealData {
  static constexpr unsigned FractionBits = 6, Bits = 10;
  static constexpr uint64_t Low = (uint64_t(1) << Bits) - 1, Middle = uint64_t(1) << (Bits - 1);

  static uint64_t of(uint64_t Hash) { return Hash << Bits | Middle; }
  /// What adding a number that is known adds; never nothing, so that later values differ.
  static uint64_t step(double Known) {
    constexpr double Most = 0x1p40;
    if (!(std::abs(Known) < Most))
      return scramble(std::bit_cast<uint64_t>(Known)) << Bits;
    const double Scaled = Known * (1 << FractionBits);
    const int64_t Steps = int64_t(Scaled + std::copysign(0.5, Scaled)); // std::llround() is a call
    return uint64_t(Steps || Known == 0 ? Steps : Known < 0 ? -1 : 1);
  }
  /// Places that \p Data lies from where it would without what was added.
  static int64_t away(uint64_t Data) { return int64_t((Data & Low) >> FractionBits) - int64_t(Middle >> FractionBits); }
};

/// What stands for integers that follow from data.
struct DataIntegers {
  uint64_t Elements = 0; ///< they lie in [0, Elements)
  bool Local = false;    ///< near the number of the thread, and not anywhere
  uint64_t FirstThread = 0; ///< the number of lane 0 in the grid
  uint64_t Threads = 0;     ///< in the grid
  bool Row = false;         ///< of a coordinate that near threads share
  uint64_t Target = 0;      ///< elements of the array that they are indices of, as far from its begin as the thread's number; 0: not known

  uint64_t value(unsigned Lane, uint64_t Seed) const {
    if (!Local || !Elements)
      return randomBelow(Seed, Elements);
    return remainder(near(Lane, Seed, 8), Elements);
  }
  /// Made from the floating-point \p Data.
  uint64_t place(unsigned Lane, uint64_t Data) const {
    const uint64_t At = value(Lane, Data >> RealData::Bits);
    const int64_t Away = RealData::away(Data);
    return Away < 0 && At < uint64_t(-Away) ? 0 : Elements ? remainder(At + uint64_t(Away), Elements) : At;
  }
  /// At most \p Distance from the lane's number.
  uint64_t near(unsigned Lane, uint64_t Seed, uint64_t Distance) const {
    constexpr uint64_t ThreadsOfRow = 1024;
    if (Row)
      return FirstThread / ThreadsOfRow + randomBelow(Seed, 2);
    uint64_t Place = FirstThread + Lane;
    if (Target && Threads)
      Place = uint64_t(double(Place) / double(Threads) * double(Target));
    const uint64_t Moved = Place + randomBelow(Seed, 2 * Distance + 1);
    return Moved < Distance ? 0 : Moved - Distance;
  }
};

/// Executes \p Op, which has results, for the lanes in \p Mask. \p Data are integers made from floating-point data,
/// for conversions.
void compute(const Program &P, const MicroOp &Op, uint32_t Mask, const DataIntegers &Data, RegisterFile &R);

} // namespace restride::ptx
