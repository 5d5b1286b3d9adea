// Comparisons and what selects by them. Values that are not known decide by a
// coin, unless the outcome is certain all the same.
#include "ptx/execute/AluUnit.h"

#include <optional>

using namespace restride::ptx;

static bool isOpposite(Relation Rel) {
  return Rel == Relation::NotEqual || Rel == Relation::GreaterEqual || Rel == Relation::LessEqual;
}

/// A comparison of unknown values: a coin that shows the same for the same
/// values, and the other side for the opposite comparison.
static bool coin(Relation Rel, uint64_t V, uint64_t W) {
  const uint64_t Kind = Rel == Relation::Equal || Rel == Relation::NotEqual      ? 1
                        : Rel == Relation::Less || Rel == Relation::GreaterEqual ? 2
                                                                                 : 3;
  return ((scramble(V * 0x9E3779B97F4A7C15ull + W + Kind) & 1) != 0) != isOpposite(Rel);
}

void AluUnit::compare() {
  const Lanes &A = source(0), &B = source(1);
  const uint32_t U = unknown(0) | unknown(1);
  const Relation Rel = Op.Compare;
  const unsigned Bits = Op.SrcBits;
  const bool Signed = Op.SrcSigned;
  const Slot First = Op.SrcCount ? P.Slots[Op.FirstSrc] : -1, Second = Op.SrcCount > 1 ? P.Slots[Op.FirstSrc + 1] : -1;
  const bool IsRegister = First >= 0 && unsigned(First) < P.Registers;
  const bool NonNegative = IsRegister && Signed && P.NonNegative[unsigned(First)];
  const bool FewBits = IsRegister && P.FewBits[unsigned(First)];
  const bool IsOrder = Rel != Relation::Equal && Rel != Relation::NotEqual;
  const bool HasThreshold = Second >= 0 && unsigned(Second) >= P.Registers;
  // Unknown integers lie in [0, Elements), like real indices: bounds checks,
  // signs and sentinels come out as written, and a few bits of a random number
  // are as random as a coin. Equality and thresholds mean something else in the
  // data than in random numbers.
  const unsigned One = unsigned(std::countr_zero(Mask));
  auto Agrees = [&](const Lanes &V) {
    for (uint32_t Rest = Mask; Rest; Rest &= Rest - 1)
      if (V[unsigned(std::countr_zero(Rest))] != V[One])
        return false;
    return true;
  };
  // One value for all lanes is one coin for the warp. Few of them are thrown,
  // and no layout shall be lucky: heads and tails take turns.
  std::optional<bool> Turn;
  auto Decide = [&](unsigned L) {
    bool AsWritten = !(U >> L & 1) || FewBits;
    if (!AsWritten) {
      const int64_t Limit = signExtend(B[L], Bits);
      AsWritten = IsOrder ? !HasThreshold || Limit <= 0 : NonNegative && Limit < 0;
    }
    if (AsWritten && !Op.SrcFloat)
      return holds(Rel, A[L], B[L], Bits, Signed);
    if (L == One && std::popcount(Mask) > 1 && Agrees(A) && Agrees(B))
      Turn = (R.Coins[&Op]++ % 2 != 0) != isOpposite(Rel);
    return Turn ? *Turn : coin(Rel, A[L], B[L]);
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
  uint32_t Set = Result, Unset = ~Result;
  if (J != Join::None) {
    Set = Unset = 0;
    for (unsigned L = 0; L < 32; ++L) {
      Set |= uint32_t(Combine(Result >> L & 1, L)) << L;
      Unset |= uint32_t(Combine(!(Result >> L & 1), L)) << L;
    }
  }
  if (Op.Op == Opcode::Set) {
    const uint64_t True = Op.Float ? 0x3f800000 : ~uint64_t(0);
    return write(0, Op.Bits, Unknown, [&](unsigned L) { return Set >> L & 1 ? True : 0; });
  }
  write(0, 1, Unknown, [&](unsigned L) { return Set >> L & 1; });
  write(1, 1, Unknown, [&](unsigned L) { return Unset >> L & 1; });
}

void AluUnit::select() {
  const Lanes &A = source(0), &B = source(1), &C = source(2);
  if (Op.Op == Opcode::Slct)
    return result([&](unsigned L) { return signExtend(C[L], Op.SrcBits) >= 0 ? A[L] : B[L]; });
  if (!Op.Variant)
    return result([&](unsigned L) { return predicate(2, L) ? A[L] : B[L]; });
  // A clamp, `c < n ? c : n - 1`: as for min.
  const uint32_t UnknownA = unknown(0), UnknownB = unknown(1);
  result([&](unsigned L) {
    const bool First = predicate(2, L);
    const bool Clamps = (First ? UnknownB & ~UnknownA : UnknownA & ~UnknownB) >> L & 1;
    return clamped(First ? A[L] : B[L], First ? B[L] : A[L], Clamps);
  });
}

uint64_t AluUnit::clamped(uint64_t Kept, uint64_t Other, bool Clamps) const {
  // Real data lies inside what it is clamped to, seldom at the border.
  return Clamps && signExtend(Kept, Op.Bits) > 0 ? randomBelow(Other, Kept + 1) : Kept;
}
