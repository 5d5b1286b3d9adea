// Floating-point arithmetic: places of rays and pixels are computed in it, and
// indices are made of them. What is known is computed as on the host, which
// rounds the approximate functions differently; data stay opaque.
#include "ptx/execute/AluUnit.h"

#include <algorithm>
#include <cmath>

using namespace restride::ptx;

template <typename T> static T real(uint64_t Word) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<float>(uint32_t(Word));
  else
    return std::bit_cast<double>(Word);
}

template <typename T> static uint64_t word(T Value) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<uint32_t>(Value);
  else
    return std::bit_cast<uint64_t>(Value);
}

/// \p Op of its operands; none: it is no arithmetic.
template <typename T> static std::optional<T> computed(Opcode Op, T A, T B, T C) {
  switch (Op) {
  case Opcode::FAdd:
    return A + B;
  case Opcode::FSub:
    return A - B;
  case Opcode::FMul:
    return A * B;
  case Opcode::FFma:
    return T(double(A) * double(B) + double(C));
  case Opcode::FDiv:
    return A / B;
  case Opcode::FRcp:
    return 1 / A;
  case Opcode::FSqrt:
    return std::sqrt(A);
  case Opcode::FRsqrt:
    return 1 / std::sqrt(A);
  case Opcode::FSin:
    return std::sin(A);
  case Opcode::FCos:
    return std::cos(A);
  case Opcode::FEx2:
    return std::exp2(A);
  case Opcode::FLg2:
    return std::log2(A);
  case Opcode::FTanh:
    return std::tanh(A);
  case Opcode::FMin:
    return std::fmin(A, B);
  case Opcode::FMax:
    return std::fmax(A, B);
  case Opcode::FAbs:
    return std::abs(A);
  case Opcode::FNeg:
    return -A;
  case Opcode::FCopysign:
    return std::copysign(B, A);
  default:
    return std::nullopt;
  }
}

double AluUnit::real(unsigned I, unsigned Lane) const {
  const uint64_t Word = source(I)[Lane];
  return Op.SrcBits == 32 ? double(::real<float>(Word)) : ::real<double>(Word);
}

template <typename T> bool AluUnit::arithmetic(uint32_t Known, Lanes &Out) const {
  if (!computed<T>(Op.Op, 1, 1, 1))
    return false;
  const Lanes &A = source(0), &B = source(1), &C = source(2);
  for (uint32_t Rest = Known; Rest; Rest &= Rest - 1) {
    const unsigned L = unsigned(std::countr_zero(Rest));
    const T V = *computed<T>(Op.Op, ::real<T>(A[L]), ::real<T>(B[L]), ::real<T>(C[L]));
    Out[L] = word(Mode(Op.Variant) == Mode::Saturate ? std::clamp<T>(V, 0, 1) : V);
  }
  return true;
}

void AluUnit::floating() {
  const uint32_t Known = Mask & ~unknownSources();
  const Slot To = Op.DestCount ? P.Slots[Op.FirstDest] : -1;
  Lanes Values;
  const bool IsWhole = Op.SrcBits == Op.Bits; // a value to a register
  const bool Computes = Known && To >= 0 && IsWhole && (Op.Bits == 32 ? arithmetic<float>(Known, Values) : Op.Bits == 64 && arithmetic<double>(Known, Values));
  if (!Computes || Known != Mask)
    opaque();
  if (!Computes)
    return;
  for (uint32_t Rest = Known; Rest; Rest &= Rest - 1) {
    const unsigned L = unsigned(std::countr_zero(Rest));
    R.Values[To][L] = Values[L];
  }
  R.Unknown[To] &= ~Known;
}

static double rounded(Mode How, double V) {
  switch (How) {
  case Mode::Nearest:
    return std::nearbyint(V);
  case Mode::TowardZero:
    return std::trunc(V);
  case Mode::Down:
    return std::floor(V);
  case Mode::Up:
    return std::ceil(V);
  case Mode::Saturate:
    return std::clamp(V, 0.0, 1.0);
  default:
    return V;
  }
}

/// An integer of \p Bits as near to \p V as there is one.
static uint64_t nearest(double V, unsigned Bits, bool Signed) {
  if (std::isnan(V))
    return 0;
  const double Most = std::ldexp(1.0, int(Bits) - Signed), Least = Signed ? -Most : 0;
  if (V >= Most)
    return Signed ? lowBits(~uint64_t(0), Bits - 1) : lowBits(~uint64_t(0), Bits);
  V = std::max(V, Least);
  return V < 0 ? uint64_t(int64_t(V)) : uint64_t(V);
}

void AluUnit::convert(const DataIntegers &Data) {
  const Lanes &A = source(0);
  const unsigned Bits = Op.SrcBits;
  if (!Op.Float && !Op.SrcFloat) {
    if (Op.SrcSigned)
      return result([&](unsigned L) { return uint64_t(signExtend(A[L], Bits)); });
    return result([&](unsigned L) { return lowBits(A[L], Bits); });
  }
  const bool IsNarrow = (Op.Float && Op.Bits < 32) || (Op.SrcFloat && Bits < 32);
  const uint32_t Unknown = IsNarrow ? ~0u : unknown(0);
  if (Op.Float && !(Mask & ~Unknown))
    return opaque();
  auto Value = [&](unsigned L) {
    if (Op.SrcFloat)
      return real(0, L);
    return Op.SrcSigned ? double(signExtend(A[L], Bits)) : double(lowBits(A[L], Bits));
  };
  write(0, Op.Bits, Unknown, [&](unsigned L) -> uint64_t {
    if (Unknown >> L & 1) // an index that data give
      return Op.Float ? scramble(A[L] + Op.SrcBits) : Data.value(L, A[L]);
    const double V = rounded(Mode(Op.Variant), Value(L));
    if (Op.Float)
      return Op.Bits == 32 ? word(float(V)) : word(V);
    return nearest(V, Op.Bits, Op.Signed);
  });
}
