// Floating-point arithmetic: places of rays and pixels are computed in it, and
// indices are made of them. What is known is computed as on the host, which
// rounds the approximate functions differently; data stay opaque.
#include "ptx/execute/AluUnit.h"

#include <algorithm>
#include <cmath>

using namespace restride::ptx;

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

double AluUnit::real(unsigned I, unsigned Lane) const { return realOf(source(I)[Lane], Op.SrcBits); }

template <typename T> void AluUnit::arithmetic() {
  result([&](unsigned L) {
    const T V = computed<T>(Op.Op, T(real(0, L)), T(real(1, L)), T(real(2, L))).value_or(0);
    return wordOf(Mode(Op.Variant) == Mode::Saturate ? std::clamp<T>(V, 0, 1) : V, Op.Bits);
  });
}

/// Sums with data in them, which keep how far apart they are.
void AluUnit::addData() {
  // All lanes as if they were data first, which is cheap: few sums have numbers in them that are known.
  auto terms = [&](uint32_t Unknown, auto DataOf, auto KnownOf) {
    Lanes Out;
    for (unsigned L = 0; L < 32; ++L)
      Out[L] = DataOf(L) - RealData::Middle;
    for (uint32_t Known = Mask & ~Unknown; Known; Known &= Known - 1) {
      const unsigned L = unsigned(std::countr_zero(Known));
      Out[L] = RealData::step(KnownOf(L));
    }
    return Out;
  };
  auto operand = [&](unsigned I) {
    const Lanes &A = source(I);
    return terms(unknown(I), [&](unsigned L) { return A[L]; }, [&](unsigned L) { return real(I, L); });
  };
  auto product = [&] {
    const Lanes &A = source(0), &B = source(1);
    return terms(unknown(0) | unknown(1), [&](unsigned L) { return RealData::of(scramble(A[L] * 0x9E3779B97F4A7C15ull ^ B[L])); },
                 [&](unsigned L) { return real(0, L) * real(1, L); });
  };
  const bool Multiplies = Op.Op == Opcode::FFma;
  const Lanes First = Multiplies ? product() : operand(0), Last = operand(Multiplies ? 2 : 1);
  if (Op.Op == Opcode::FSub)
    result([&](unsigned L) { return RealData::Middle + First[L] - Last[L]; });
  else
    result([&](unsigned L) { return RealData::Middle + First[L] + Last[L]; });
}

void AluUnit::floating() {
  const bool IsWhole = Op.SrcBits == Op.Bits && (Op.Bits == 32 || Op.Bits == 64); // one value a register
  const bool IsSum = Op.Op == Opcode::FAdd || Op.Op == Opcode::FSub || Op.Op == Opcode::FFma;
  const uint32_t Known = IsWhole && computed<float>(Op.Op, 1, 1, 1) ? Mask & ~unknownSources() : 0;
  AluUnit Data(P, Op, Mask & ~Known, R), Exact(P, Op, Known, R);
  if (Known != Mask)
    IsWhole && IsSum ? Data.addData() : Data.opaque();
  if (!Known)
    return;
  if (Op.Bits == 32)
    Exact.arithmetic<float>();
  else
    Exact.arithmetic<double>();
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

void AluUnit::convertKnown() {
  const Lanes &A = source(0);
  const unsigned Bits = Op.SrcBits;
  result([&](unsigned L) {
    const double V = rounded(Mode(Op.Variant), Op.SrcFloat    ? real(0, L)
                                               : Op.SrcSigned ? double(signExtend(A[L], Bits))
                                                              : double(lowBits(A[L], Bits)));
    return Op.Float ? wordOf(V, Op.Bits) : nearest(V, Op.Bits, Op.Signed);
  });
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
  const uint32_t Known = IsNarrow ? 0 : Mask & ~unknown(0);
  AluUnit Others(P, Op, Mask & ~Known, R);
  const bool IsRounded = Op.Float && Op.SrcFloat && !IsNarrow; // floor() among others
  if (Known != Mask && IsRounded)
    Others.write(0, Op.Bits, ~0u, [&](unsigned L) { return A[L]; });
  else if (Known != Mask && Op.Float)
    Others.opaque();
  else if (Known != Mask) // an index that data give
    Others.write(0, Op.Bits, ~0u, [&](unsigned L) { return Data.place(L, A[L]); });
  if (Known)
    AluUnit(P, Op, Known, R).convertKnown();
}
