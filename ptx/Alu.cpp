#include "ptx/Alu.h"

#include "llvm/Support/MathExtras.h"

#include <bit>

using namespace restride::ptx;

namespace {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

/// One instruction's view of the registers.
class Unit {
public:
  Unit(const Program &P, const MicroOp &Op, uint32_t Mask, RegisterFile &R) : P(P), Op(Op), Mask(Mask), R(R) {}

  const Lanes &source(unsigned I) const {
    static constexpr Lanes Zeros{};
    const Slot S = I < Op.SrcCount ? P.Slots[Op.FirstSrc + I] : -1;
    return S < 0 ? Zeros : R.Values[S];
  }
  uint32_t unknown(unsigned I) const {
    const Slot S = I < Op.SrcCount ? P.Slots[Op.FirstSrc + I] : -1;
    return S < 0 ? 0 : R.Unknown[S];
  }
  uint32_t unknownSources() const {
    uint32_t U = 0;
    for (unsigned I = 0; I < Op.SrcCount; ++I)
      U |= unknown(I);
    return U;
  }
  /// A predicate source with its inversion.
  bool predicate(unsigned I, unsigned Lane) const {
    return ((source(I)[Lane] & 1) != 0) != ((Op.NegatedSources >> I & 1) != 0);
  }

  /// Writes Fn(lane) to destination \p D, cut to \p Bits.
  template <typename FnT> void write(unsigned D, unsigned Bits, uint32_t Unknown, FnT Fn) {
    const Slot S = D < Op.DestCount ? P.Slots[Op.FirstDest + D] : -1;
    if (S < 0)
      return;
    Lanes &Out = R.Values[S];
    if (Mask == ~0u) {
      for (unsigned L = 0; L < 32; ++L)
        Out[L] = lowBits(Fn(L), Bits);
    } else {
      for (uint32_t Rest = Mask; Rest; Rest &= Rest - 1) {
        const unsigned L = unsigned(std::countr_zero(Rest));
        Out[L] = lowBits(Fn(L), Bits);
      }
    }
    R.Unknown[S] = (R.Unknown[S] & ~Mask) | (Unknown & Mask);
  }
  template <typename FnT> void result(FnT Fn) { write(0, Op.Bits, unknownSources(), Fn); }

  void run(uint64_t Elements);

private:
  void opaque();
  void addOrSubtract();
  void multiply();
  void divide();
  void shift();
  void bitField();
  void bitCount();
  void permute();
  void move();
  void convert(uint64_t Elements);
  void convertAddress();
  void compare();
  void select();

  const Program &P;
  const MicroOp &Op;
  const uint32_t Mask;
  RegisterFile &R;
};

} // namespace

/// Not computed: equal inputs still give equal results.
void Unit::opaque() {
  const uint64_t Seed = uint64_t(Op.Op) << 56;
  for (unsigned D = 0; D < Op.DestCount; ++D)
    write(D, Op.Bits ? Op.Bits : 32, ~0u, [&](unsigned L) {
      uint64_t H = Seed + D;
      for (unsigned I = 0; I < Op.SrcCount; ++I)
        H = (H ^ source(I)[L]) * 0x9E3779B97F4A7C15ull;
      return H ^ (H >> 32);
    });
}

void Unit::addOrSubtract() {
  const Lanes &A = source(0), &B = source(1);
  const bool Subtract = Op.Op == Opcode::Sub;
  if (!Op.Variant) {
    if (Subtract)
      result([&](unsigned L) { return A[L] - B[L]; });
    else
      result([&](unsigned L) { return A[L] + B[L]; });
    return;
  }
  const uint32_t CarryIn = Op.Variant & ReadsCarry ? R.Carry : 0;
  uint32_t CarryOut = 0;
  result([&](unsigned L) {
    const uint64_t In = CarryIn >> L & 1;
    const UInt128 Sum = Subtract ? UInt128(A[L]) - B[L] - In : UInt128(A[L]) + B[L] + In;
    CarryOut |= uint32_t(uint64_t(Sum >> Op.Bits) & 1) << L;
    return uint64_t(Sum);
  });
  if (Op.Variant & WritesCarry)
    R.Carry = (R.Carry & ~Mask) | CarryOut;
}

void Unit::multiply() {
  const Lanes &A = source(0), &B = source(1), &C = source(2);
  const unsigned Bits = Op.SrcBits;
  const bool Adds = Op.Op == Opcode::Mad || Op.Op == Opcode::MadWide || Op.Op == Opcode::MadHi;
  auto Plus = [&](uint64_t Product, unsigned L) { return Adds ? Product + C[L] : Product; };
  switch (Op.Op) {
  case Opcode::Mul:
  case Opcode::Mad:
    return result([&](unsigned L) { return Plus(A[L] * B[L], L); });
  case Opcode::MulWide:
  case Opcode::MadWide:
    if (Op.SrcSigned)
      return result(
          [&](unsigned L) { return Plus(uint64_t(signExtend(A[L], Bits)) * uint64_t(signExtend(B[L], Bits)), L); });
    return result([&](unsigned L) { return Plus(A[L] * B[L], L); });
  default: // the high half
    if (Op.SrcSigned)
      return result([&](unsigned L) {
        return Plus(uint64_t((Int128(signExtend(A[L], Bits)) * signExtend(B[L], Bits)) >> Bits), L);
      });
    return result([&](unsigned L) { return Plus(uint64_t((UInt128(A[L]) * B[L]) >> Bits), L); });
  }
}

void Unit::divide() {
  const Lanes &A = source(0), &B = source(1);
  const bool Remainder = Op.Op == Opcode::Rem;
  const unsigned Bits = Op.Bits;
  if (!Op.Signed)
    return result([&](unsigned L) {
      if (B[L] == 0)
        return Remainder ? A[L] : ~uint64_t(0);
      return Remainder ? A[L] % B[L] : A[L] / B[L];
    });
  result([&](unsigned L) {
    const int64_t X = signExtend(A[L], Bits), Y = signExtend(B[L], Bits);
    if (Y == 0)
      return Remainder ? uint64_t(X) : ~uint64_t(0);
    if (Y == -1) // the one overflow
      return Remainder ? 0 : 0 - uint64_t(X);
    return uint64_t(Remainder ? X % Y : X / Y);
  });
}

void Unit::shift() {
  const Lanes &A = source(0), &B = source(1), &C = source(2);
  const unsigned Bits = Op.Bits;
  if (Op.Op == Opcode::Shl)
    return result([&](unsigned L) { return B[L] >= Bits ? 0 : A[L] << B[L]; });
  if (Op.Op == Opcode::Shr && Op.Signed)
    return result([&](unsigned L) { return uint64_t(signExtend(A[L], Bits) >> std::min<uint64_t>(B[L], 63)); });
  if (Op.Op == Opcode::Shr)
    return result([&](unsigned L) { return B[L] >= Bits ? 0 : A[L] >> B[L]; });
  const Mode M = Mode(Op.Variant); // funnel: B:A by C
  const bool Clamp = M == Mode::LeftClamp || M == Mode::RightClamp;
  const bool Left = M == Mode::Left || M == Mode::LeftClamp;
  result([&](unsigned L) {
    const uint64_t By = Clamp ? std::min<uint64_t>(C[L], 32) : C[L] & 31;
    const uint64_t Both = (B[L] << 32) | A[L];
    return Left ? (Both << By) >> 32 : Both >> By;
  });
}

void Unit::bitField() {
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

void Unit::bitCount() {
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
void Unit::permute() {
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

/// Also {a, b} to one register and back.
void Unit::move() {
  if (Op.DestCount > 1) {
    const unsigned Bits = Op.Bits / Op.DestCount;
    const Lanes A = source(0);
    const uint32_t U = unknown(0);
    for (unsigned D = 0; D < Op.DestCount; ++D)
      write(D, Bits, U, [&](unsigned L) { return D * Bits < 64 ? A[L] >> (D * Bits) : 0; });
    return;
  }
  if (Op.SrcCount > 1) {
    const unsigned Bits = Op.Bits / Op.SrcCount;
    return result([&](unsigned L) {
      uint64_t Out = 0;
      for (unsigned I = 0; I < Op.SrcCount && I * Bits < 64; ++I)
        Out |= lowBits(source(I)[L], Bits) << (I * Bits);
      return Out;
    });
  }
  const Lanes &A = source(0);
  result([&](unsigned L) { return A[L]; });
}

void Unit::convert(uint64_t Elements) {
  if (Op.Float)
    return opaque();
  const Lanes &A = source(0);
  if (Op.SrcFloat) // an index computed in floating point
    return write(0, Op.Bits, ~0u, [&](unsigned L) { return randomBelow(A[L], Elements); });
  const unsigned Bits = Op.SrcBits;
  if (Op.SrcSigned)
    result([&](unsigned L) { return uint64_t(signExtend(A[L], Bits)); });
  else
    result([&](unsigned L) { return lowBits(A[L], Bits); });
}

void Unit::convertAddress() {
  const Lanes &A = source(0);
  const uint64_t Window = window(Op.Mem);
  if (!Window)
    return result([&](unsigned L) { return A[L]; });
  if (Mode(Op.Variant) == Mode::ToSpace)
    return result([&](unsigned L) { return A[L] & OffsetMask; });
  result([&](unsigned L) { return A[L] | Window; });
}

bool restride::ptx::holds(Relation Rel, uint64_t V, uint64_t W, unsigned Bits, bool Signed) {
  V = lowBits(V, Bits);
  W = lowBits(W, Bits);
  const int64_t X = signExtend(V, Bits), Y = signExtend(W, Bits);
  switch (Rel) {
  case Relation::Equal:
    return V == W;
  case Relation::NotEqual:
    return V != W;
  case Relation::Less:
    return Signed ? X < Y : V < W;
  case Relation::LessEqual:
    return Signed ? X <= Y : V <= W;
  case Relation::Greater:
    return Signed ? X > Y : V > W;
  case Relation::GreaterEqual:
    return Signed ? X >= Y : V >= W;
  }
  return false;
}

/// A comparison of unknown values: a coin that shows the same for the same
/// values, and the other side for the opposite comparison.
static bool coin(Relation Rel, uint64_t V, uint64_t W) {
  const bool Opposite = Rel == Relation::NotEqual || Rel == Relation::GreaterEqual || Rel == Relation::LessEqual;
  const uint64_t Kind = Rel == Relation::Equal || Rel == Relation::NotEqual         ? 1
                        : Rel == Relation::Less || Rel == Relation::GreaterEqual ? 2
                                                                                 : 3;
  return ((scramble(V * 0x9E3779B97F4A7C15ull + W + Kind) & 1) != 0) != Opposite;
}

void Unit::compare() {
  const Lanes &A = source(0), &B = source(1);
  const uint32_t U = unknown(0) | unknown(1);
  const Relation Rel = Op.Compare;
  const unsigned Bits = Op.SrcBits;
  const bool Signed = Op.SrcSigned;
  // A loaded index is never negative: tests for a sentinel come out as written.
  const Slot First = Op.SrcCount ? P.Slots[Op.FirstSrc] : -1;
  const bool Sentinel = Signed && First >= 0 && unsigned(First) < P.Registers && P.NonNegative[unsigned(First)];
  auto Decide = [&](unsigned L) {
    if (!Op.SrcFloat && (!(U >> L & 1)))
      return holds(Rel, A[L], B[L], Bits, Signed);
    const int64_t Limit = signExtend(B[L], Bits);
    const bool Certain = !Op.SrcFloat && Sentinel && !(unknown(1) >> L & 1) &&
                         (Limit < 0 || (Limit == 0 && (Rel == Relation::Less || Rel == Relation::GreaterEqual)));
    return Certain ? holds(Rel, A[L], B[L], Bits, Signed) : coin(Rel, A[L], B[L]);
  };
  const Join J = Join(Op.Variant);
  auto Combine = [&](bool Result, unsigned L) {
    switch (J) {
    case Join::None:
      return Result;
    case Join::And:
      return Result && predicate(2, L);
    case Join::Or:
      return Result || predicate(2, L);
    case Join::Xor:
      return Result != predicate(2, L);
    }
    return Result;
  };
  const uint32_t Unknown = (Op.SrcFloat ? ~0u : U) | unknown(2);
  uint32_t Result = 0;
  for (uint32_t Rest = Mask; Rest; Rest &= Rest - 1) {
    const unsigned L = unsigned(std::countr_zero(Rest));
    Result |= uint32_t(Decide(L)) << L;
  }
  uint32_t First0 = 0, Second = 0;
  for (unsigned L = 0; L < 32; ++L) {
    First0 |= uint32_t(Combine(Result >> L & 1, L)) << L;
    Second |= uint32_t(Combine(!(Result >> L & 1), L)) << L;
  }
  if (Op.Op == Opcode::Set) {
    const uint64_t True = Op.Float ? 0x3f800000 : ~uint64_t(0);
    return write(0, Op.Bits, Unknown, [&](unsigned L) { return First0 >> L & 1 ? True : 0; });
  }
  write(0, 1, Unknown, [&](unsigned L) { return First0 >> L & 1; });
  write(1, 1, Unknown, [&](unsigned L) { return Second >> L & 1; });
}

void Unit::select() {
  const Lanes &A = source(0), &B = source(1), &C = source(2);
  if (Op.Op == Opcode::Selp)
    return result([&](unsigned L) { return predicate(2, L) ? A[L] : B[L]; });
  result([&](unsigned L) { return signExtend(C[L], Op.SrcBits) >= 0 ? A[L] : B[L]; });
}

void Unit::run(uint64_t Elements) {
  const Lanes &A = source(0), &B = source(1), &C = source(2), &D = source(3);
  const unsigned Bits = Op.Bits;
  switch (Op.Op) {
  case Opcode::Add:
  case Opcode::Sub:
    return addOrSubtract();
  case Opcode::Mul:
  case Opcode::MulWide:
  case Opcode::MulHi:
  case Opcode::Mad:
  case Opcode::MadWide:
  case Opcode::MadHi:
    return multiply();
  case Opcode::Div:
  case Opcode::Rem:
    return divide();
  case Opcode::Min:
  case Opcode::Max: {
    const Relation Keep = Op.Op == Opcode::Min ? Relation::Less : Relation::Greater;
    return result([&](unsigned L) { return holds(Keep, A[L], B[L], Bits, Op.Signed) ? A[L] : B[L]; });
  }
  case Opcode::Abs:
    return result([&](unsigned L) { return signExtend(A[L], Bits) < 0 ? 0 - A[L] : A[L]; });
  case Opcode::Neg:
    return result([&](unsigned L) { return 0 - A[L]; });
  case Opcode::And:
    return result([&](unsigned L) { return A[L] & B[L]; });
  case Opcode::Or:
    return result([&](unsigned L) { return A[L] | B[L]; });
  case Opcode::Xor:
    return result([&](unsigned L) { return A[L] ^ B[L]; });
  case Opcode::Not:
    return result([&](unsigned L) { return ~A[L]; });
  case Opcode::Cnot:
    return result([&](unsigned L) { return uint64_t(A[L] == 0); });
  case Opcode::Shl:
  case Opcode::Shr:
  case Opcode::Shf:
    return shift();
  case Opcode::Bfe:
  case Opcode::Bfi:
    return bitField();
  case Opcode::Popc:
  case Opcode::Clz:
  case Opcode::Brev:
  case Opcode::Bfind:
    return bitCount();
  case Opcode::Prmt:
    return permute();
  case Opcode::Lop3:
    return result([&](unsigned L) {
      uint64_t Out = 0;
      for (unsigned Row = 0; Row < 8; ++Row)
        if (D[L] >> Row & 1)
          Out |= (Row & 4 ? A[L] : ~A[L]) & (Row & 2 ? B[L] : ~B[L]) & (Row & 1 ? C[L] : ~C[L]);
      return Out;
    });
  case Opcode::Sad:
    return result([&](unsigned L) {
      return C[L] + (holds(Relation::Less, A[L], B[L], Bits, Op.Signed) ? B[L] - A[L] : A[L] - B[L]);
    });
  case Opcode::Mov:
    return move();
  case Opcode::Cvt:
    return convert(Elements);
  case Opcode::Cvta:
    return convertAddress();
  case Opcode::Setp:
  case Opcode::Set:
    return compare();
  case Opcode::Selp:
  case Opcode::Slct:
    return select();
  case Opcode::Isspacep:
    return result([&](unsigned L) { return uint64_t(spaceOf(A[L]) == Op.Mem); });
  default: // floating point, unknown instructions, and those without results
    return opaque();
  }
}

void restride::ptx::compute(const Program &P, const MicroOp &Op, uint32_t Mask, uint64_t Elements, RegisterFile &R) {
  Unit(P, Op, Mask, R).run(Elements);
}
