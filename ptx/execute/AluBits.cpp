// Shifts, bit fields, bit counts and byte permutation.
#include "ptx/execute/AluUnit.h"

#include "llvm/Support/MathExtras.h"

using namespace restride::ptx;

/// A number of bits of a word of 32: at most all, or modulo 32.
static uint64_t bitsOfWord(uint64_t Count, bool Clamp) { return Clamp ? std::min<uint64_t>(Count, 32) : Count & 31; }

void AluUnit::shift() {
  const Lanes &A = source(0), &B = source(1), &C = source(2);
  const unsigned Bits = Op.Bits;
  const uint32_t Drawn = unknown(1);
  auto by = [&](unsigned L) { return Drawn >> L & 1 ? B[L] & (Bits - 1) : B[L]; }; // a source shifts by no more
  if (Op.Op == Opcode::Shl)
    return result([&](unsigned L) { return by(L) >= Bits ? 0 : A[L] << by(L); });
  if (Op.Op == Opcode::Shr && Op.Signed)
    return result([&](unsigned L) { return uint64_t(signExtend(A[L], Bits) >> std::min<uint64_t>(by(L), 63)); });
  if (Op.Op == Opcode::Shr)
    return result([&](unsigned L) { return by(L) >= Bits ? 0 : A[L] >> by(L); });
  const Mode M = Mode(Op.Variant); // funnel: B:A by C
  const bool Clamp = M == Mode::LeftClamp || M == Mode::RightClamp;
  const bool Left = M == Mode::Left || M == Mode::LeftClamp;
  result([&](unsigned L) {
    const uint64_t By = bitsOfWord(C[L], Clamp);
    const uint64_t Both = (B[L] << 32) | A[L];
    return Left ? (Both << By) >> 32 : Both >> By;
  });
}

void AluUnit::bitField() {
  const Lanes &A = source(0), &B = source(1), &C = source(2), &D = source(3);
  const unsigned Bits = Op.Bits;
  if (Op.Op == Opcode::Bfe)
    return result([&](unsigned L) {
      const uint64_t Position = B[L] & 0xff, Length = C[L] & 0xff;
      if (Length == 0)
        return uint64_t(0);
      const uint64_t Value = Op.Signed ? uint64_t(signExtend(A[L], Bits)) : A[L];
      // Beyond the top a signed field reads copies of the sign.
      const uint64_t Moved = Op.Signed ? uint64_t(int64_t(Value) >> std::min<uint64_t>(Position, 63))
                                       : (Position >= Bits ? 0 : Value >> Position);
      const uint64_t Field = lowBits(Moved, unsigned(Length));
      return Op.Signed && Length < 64 ? uint64_t(signExtend(Field, unsigned(Length))) : Field;
    });
  result([&](unsigned L) { // insert A into B
    const uint64_t Position = C[L] & 0xff, Length = std::min<uint64_t>(D[L] & 0xff, 64);
    if (Position >= Bits || Length == 0)
      return B[L];
    const uint64_t Field = lowBits(~uint64_t(0), unsigned(Length)) << Position;
    return (B[L] & ~Field) | ((A[L] << Position) & Field);
  });
}

/// Masks of, and words cut to, a number of bits that is at most 32 or taken modulo 32.
void AluUnit::lowField() {
  const Lanes &A = source(0), &B = source(1);
  const bool Clamp = Mode(Op.Variant) == Mode::Clamp;
  result([&](unsigned L) {
    const unsigned Count = unsigned(bitsOfWord(B[L], Clamp));
    if (Op.Op == Opcode::Bmsk)
      return lowBits(~uint64_t(0), Count) << bitsOfWord(A[L], Clamp);
    const uint64_t Low = lowBits(A[L], Count);
    return Op.Signed ? uint64_t(signExtend(Low, Count)) : Low;
  });
}

void AluUnit::bitCount() {
  const Lanes &A = source(0);
  const unsigned Bits = Op.SrcBits;
  switch (Op.Op) {
  case Opcode::Popc:
    return result([&](unsigned L) { return uint64_t(std::popcount(A[L])); });
  case Opcode::Clz:
    return result([&](unsigned L) { return uint64_t(std::countl_zero(A[L])) - (64 - Bits); });
  case Opcode::Brev:
    return result([&](unsigned L) { return llvm::reverseBits<uint64_t>(A[L]) >> (64 - Op.Bits); });
  default: // the highest set bit, or the highest that differs from the sign
    return result([&](unsigned L) {
      const int64_t X = signExtend(A[L], Bits);
      const uint64_t V = Op.SrcSigned && X < 0 ? lowBits(uint64_t(~X), Bits) : A[L];
      if (V == 0)
        return ~uint64_t(0);
      const uint64_t Top = uint64_t(63 - std::countl_zero(V));
      return Mode(Op.Variant) == Mode::ShiftAmount ? Bits - 1 - Top : Top;
    });
  }
}

/// Default mode of prmt: each nibble of the third source picks a byte.
void AluUnit::permute() {
  const Lanes &A = source(0), &B = source(1), &C = source(2);
  result([&](unsigned L) {
    const uint64_t Bytes = (B[L] << 32) | A[L];
    uint64_t Out = 0;
    for (unsigned I = 0; I < 4; ++I) {
      const uint64_t Pick = C[L] >> (4 * I) & 0xf;
      uint64_t Byte = Bytes >> (8 * (Pick & 7)) & 0xff;
      if (Pick & 8) // copies of the sign
        Byte = Byte & 0x80 ? 0xff : 0;
      Out |= Byte << (8 * I);
    }
    return Out;
  });
}
