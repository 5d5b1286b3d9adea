// Computes what one instruction does to registers: 32 lanes, integers exactly,
// everything else as a repeatable pseudo-random value that is marked as unknown.
#pragma once

#include "ptx/Program.h"

#include <array>

namespace restride::ptx {

using Lanes = std::array<uint64_t, 32>;

struct RegisterFile {
  std::vector<Lanes> Values; ///< per slot; zero-extended to the register's width
  /// Per slot, bit per lane: the value comes from loaded or floating-point data.
  std::vector<uint32_t> Unknown;
  uint32_t Carry = 0; ///< bit per lane, of add.cc and sub.cc
};

/// Mixes \p X into 64 pseudo-random bits.
inline uint64_t scramble(uint64_t X) {
  X ^= X >> 31;
  X *= 0x9E3779B97F4A7C15ull;
  X ^= X >> 29;
  X *= 0xBF58476D1CE4E5B9ull;
  return X ^ (X >> 32);
}

/// A pseudo-random number in [0, \p Count), taken from \p Seed.
inline uint64_t randomBelow(uint64_t Seed, uint64_t Count) { return Count ? scramble(Seed) % Count : 0; }

/// Executes \p Op for the lanes in \p Mask. \p Elements bounds integers made
/// from floating-point values.
void compute(const Program &P, const MicroOp &Op, uint32_t Mask, uint64_t Elements, RegisterFile &R);

} // namespace restride::ptx
