// Comparisons and what selects by them. Values that are not known decide by a
// coin, unless the outcome is certain all the same.
#include "ptx/AluUnit.h"

using namespace restride::ptx;

/// A comparison of unknown values: a coin that shows the same for the same
/// values, and the other side for the opposite comparison.
static bool coin(Relation Rel, uint64_t V, uint64_t W) {
  const bool Opposite = Rel == Relation::NotEqual || Rel == Relation::GreaterEqual || Rel == Relation::LessEqual;
  const uint64_t Kind = Rel == Relation::Equal || Rel == Relation::NotEqual      ? 1
                        : Rel == Relation::Less || Rel == Relation::GreaterEqual ? 2
                                                                                 : 3;
  return ((scramble(V * 0x9E3779B97F4A7C15ull + W + Kind) & 1) != 0) != Opposite;
}

void AluUnit::compare() {
  const Lanes &A = source(0), &B = source(1);
  const uint32_t U = unknown(0) | unknown(1);
  const Relation Rel = Op.Compare;
  const unsigned Bits = Op.SrcBits;
  const bool Signed = Op.SrcSigned;
  const Slot First = Op.SrcCount ? P.Slots[Op.FirstSrc] : -1;
  const bool IsRegister = First >= 0 && unsigned(First) < P.Registers;
  const bool NonNegative = IsRegister && Signed && P.NonNegative[unsigned(First)];
  const bool FewBits = IsRegister && P.FewBits[unsigned(First)];
  auto Decide = [&](unsigned L) {
    bool Known = !Op.SrcFloat && !(U >> L & 1);
    if (!Known && !Op.SrcFloat && !(unknown(1) >> L & 1)) {
      // A loaded index is never negative, so that tests for a sentinel come out
      // as written; a few bits of a random number are as random as a coin.
      const int64_t Limit = signExtend(B[L], Bits);
      const bool IsSign = Limit == 0 && (Rel == Relation::Less || Rel == Relation::GreaterEqual);
      Known = FewBits || (NonNegative && (Limit < 0 || IsSign));
    }
    return Known ? holds(Rel, A[L], B[L], Bits, Signed) : coin(Rel, A[L], B[L]);
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

void AluUnit::select() {
  const Lanes &A = source(0), &B = source(1), &C = source(2);
  if (Op.Op == Opcode::Selp)
    return result([&](unsigned L) { return predicate(2, L) ? A[L] : B[L]; });
  result([&](unsigned L) { return signExtend(C[L], Op.SrcBits) >= 0 ? A[L] : B[L]; });
}
