#include "ptx/execute/AluUnit.h"

using namespace restride::ptx;

namespace {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

} // namespace

/// Not computed: equal inputs still give equal results.
void AluUnit::opaque() {
  const uint64_t Seed = uint64_t(Op.Op) << 56;
  auto Mix = [](uint64_t H, uint64_t V) { return (H ^ V) * 0x9E3779B97F4A7C15ull; };
  auto Fold = [&](uint64_t H) { return Op.Float ? RealData::of(H >> 20) : H ^ (H >> 32); };
  for (unsigned D = 0; D < Op.DestCount; ++D) {
    const unsigned Bits = Op.Bits ? Op.Bits : 32;
    const uint64_t First = Seed + D;
    const Lanes &A = source(0), &B = source(1), &C = source(2);
    if (Op.SrcCount == 2) // most, and a loop over sources costs as much again
      write(D, Bits, ~0u, [&](unsigned L) { return Fold(Mix(Mix(First, A[L]), B[L])); });
    else if (Op.SrcCount == 3)
      write(D, Bits, ~0u, [&](unsigned L) { return Fold(Mix(Mix(Mix(First, A[L]), B[L]), C[L])); });
    else
      write(D, Bits, ~0u, [&](unsigned L) {
        uint64_t H = First;
        for (unsigned I = 0; I < Op.SrcCount; ++I)
          H = Mix(H, source(I)[L]);
        return Fold(H);
      });
  }
}

void AluUnit::addOrSubtract() {
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

std::optional<unsigned> AluUnit::widthOfIndices() const {
  if (Op.Bits != 32 || Op.SrcCount < 2)
    return std::nullopt;
  for (unsigned I : {0, 1})
    if (const Slot Width = P.Slots[Op.FirstSrc + I]; Width >= 0 && unsigned(Width) < P.Registers && !(unknown(I) & Mask) && (unknown(1 - I) & Mask))
      return I;
  return std::nullopt;
}

/// \p Index * \p Width of a program that does not overflow.
static uint64_t insideInt(uint64_t Index, uint64_t Width) {
  constexpr uint64_t Most = 1 << 29; // places are added to each other yet
  return Width > 0 && Width < Most && Index < Most && Index * Width > Most ? Index % (Most / Width) * Width : Index * Width;
}

void AluUnit::multiply() {
  const Lanes &A = source(0), &B = source(1), &C = source(2);
  const unsigned Bits = Op.SrcBits;
  const bool Adds = Op.Op == Opcode::Mad || Op.Op == Opcode::MadWide || Op.Op == Opcode::MadHi;
  auto Plus = [&](uint64_t Product, unsigned L) { return Adds ? Product + C[L] : Product; };
  switch (Op.Op) {
  case Opcode::Mul:
  case Opcode::Mad:
    if (const std::optional<unsigned> Width = widthOfIndices())
      return result([&](unsigned L) { return Plus(insideInt(source(1 - *Width)[L], source(*Width)[L]), L); });
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

void AluUnit::minOrMax() {
  const Lanes &A = source(0), &B = source(1);
  const Relation Keep = Op.Op == Opcode::Min ? Relation::Less : Relation::Greater;
  const uint32_t UnknownA = unknown(0), UnknownB = unknown(1);
  result([&](unsigned L) {
    const bool First = holds(Keep, A[L], B[L], Op.Bits, Op.Signed);
    const bool Clamps = (First ? UnknownB & ~UnknownA : UnknownA & ~UnknownB) >> L & 1;
    return clamped(First ? A[L] : B[L], First ? B[L] : A[L], Clamps && Op.Op == Opcode::Min);
  });
}

void AluUnit::divide() {
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

/// Also {a, b} to one register and back.
void AluUnit::move() {
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

void AluUnit::convertAddress() {
  const Lanes &A = source(0);
  const uint64_t Window = window(Op.Mem);
  if (!Window)
    return result([&](unsigned L) { return A[L]; });
  if (Mode(Op.Variant) == Mode::ToSpace)
    return result([&](unsigned L) { return A[L] & OffsetMask; });
  result([&](unsigned L) { return A[L] | Window; });
}

void AluUnit::run(const DataIntegers &Data) {
  const Lanes &A = source(0), &B = source(1);
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
  case Opcode::Max:
    return minOrMax();
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
  case Opcode::Bmsk:
  case Opcode::Szext:
    return lowField();
  case Opcode::Popc:
  case Opcode::Clz:
  case Opcode::Brev:
  case Opcode::Bfind:
    return bitCount();
  case Opcode::Prmt:
    return permute();
  case Opcode::Lop3:
    return result([&, &C = source(2), &D = source(3)](unsigned L) {
      uint64_t Out = 0;
      for (unsigned Row = 0; Row < 8; ++Row)
        if (D[L] >> Row & 1)
          Out |= (Row & 4 ? A[L] : ~A[L]) & (Row & 2 ? B[L] : ~B[L]) & (Row & 1 ? C[L] : ~C[L]);
      return Out;
    });
  case Opcode::Sad:
    return result([&, &C = source(2)](unsigned L) {
      return C[L] + (holds(Relation::Less, A[L], B[L], Bits, Op.Signed) ? B[L] - A[L] : A[L] - B[L]);
    });
  case Opcode::Mov:
    return move();
  case Opcode::Cvt:
    return convert(Data);
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
  default: // also unknown instructions, and those without results
    return floating();
  }
}

void restride::ptx::compute(const Program &P, const MicroOp &Op, uint32_t Mask, const DataIntegers &Data, RegisterFile &R) {
  AluUnit(P, Op, Mask, R).run(Data);
}
