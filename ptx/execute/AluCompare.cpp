// Comparisons and what selects by them. Values that are not known decide by a
// coin, unless the outcome is certain all the same.
#include "ptx/execute/AluUnit.h"

#include <cmath>
#include <numbers>

using namespace restride::ptx;

/// Of so many tests of a range, one finds something outside.
static constexpr unsigned RangeTests = 8;

static bool isOpposite(Relation Rel) {
  return Rel == Relation::NotEqual || Rel == Relation::GreaterEqual || Rel == Relation::LessEqual;
}

static double drawn(uint64_t V, uint64_t W, uint64_t Kind) { return fraction(V * 0x9E3779B97F4A7C15ull + W + Kind); }

/// How often near threads' data pass a comparison. Nobody knows, and they are
/// alike: often all or none do. Drawn from Jeffreys' prior, Beta(1/2, 1/2), by
/// its inverse distribution function, sin^2(pi U / 2). To be of one kind is less likely,
/// as there are others: Beta(1/2, 1), a third in the mean, with U^2.
static double share(uint64_t V, uint64_t W, bool OfKinds) {
  const double U = drawn(V, W, 0), Root = OfKinds ? U : std::sin(std::numbers::pi / 2 * U);
  return Root * Root;
}

/// The same of a comparison and of its opposite.
static uint64_t kindOf(Relation Rel) {
  return Rel == Relation::Equal || Rel == Relation::NotEqual      ? 1
         : Rel == Relation::Less || Rel == Relation::GreaterEqual ? 2
                                                                  : 3;
}

/// Lanes of \p Mask for which \p Fn holds.
template <typename FnT> static uint32_t lanesWhere(uint32_t Mask, FnT Fn) {
  uint32_t Out = 0;
  if (Mask == ~0u)
    for (unsigned L = 0; L < 32; ++L)
      Out |= uint32_t(Fn(L)) << L;
  else
    for (uint32_t Rest = Mask; Rest; Rest &= Rest - 1) {
      const unsigned L = unsigned(std::countr_zero(Rest));
      Out |= uint32_t(Fn(L)) << L;
    }
  return Out;
}

static uint32_t lanesThatHold(Relation Rel, const Lanes &A, const Lanes &B, unsigned Bits, bool Signed, uint32_t Mask) {
  // The relation as a constant: no lane asks again which one it is.
  switch (Rel) {
  case Relation::Equal:
    return lanesWhere(Mask, [&](unsigned L) { return holds(Relation::Equal, A[L], B[L], Bits, Signed); });
  case Relation::NotEqual:
    return lanesWhere(Mask, [&](unsigned L) { return holds(Relation::NotEqual, A[L], B[L], Bits, Signed); });
  case Relation::Less:
    return lanesWhere(Mask, [&](unsigned L) { return holds(Relation::Less, A[L], B[L], Bits, Signed); });
  case Relation::LessEqual:
    return lanesWhere(Mask, [&](unsigned L) { return holds(Relation::LessEqual, A[L], B[L], Bits, Signed); });
  case Relation::Greater:
    return lanesWhere(Mask, [&](unsigned L) { return holds(Relation::Greater, A[L], B[L], Bits, Signed); });
  case Relation::GreaterEqual:
    return lanesWhere(Mask, [&](unsigned L) { return holds(Relation::GreaterEqual, A[L], B[L], Bits, Signed); });
  }
  return 0;
}

/// Constants that tell special cases: infinity, an argument that sin has to reduce the long way, a divisor near zero.
static bool isSpecial(double C) {
  constexpr double Large = 1e5, Small = 1e-6;
  return !(std::abs(C) < Large) || (C != 0 && std::abs(C) <= Small);
}

std::optional<bool> AluUnit::usual() const {
  if (!Op.SrcFloat || Op.SrcCount < 2 || Op.SrcBits < 32)
    return std::nullopt;
  const Slot Slots[] = {P.Slots[Op.FirstSrc], P.Slots[Op.FirstSrc + 1]};
  constexpr double Data = 1;
  if (Slots[0] == Slots[1])
    return compares(Op.Compare, Data, Data);
  auto specialConstant = [&](unsigned I) -> std::optional<double> {
    if (Slots[I] < 0 || unsigned(Slots[I]) < P.Registers)
      return std::nullopt;
    const double C = real(I, 0);
    return isSpecial(C) ? std::optional(C) : std::nullopt;
  };
  if (const std::optional<double> C = specialConstant(1))
    return compares(Op.Compare, Data, *C);
  if (const std::optional<double> C = specialConstant(0))
    return compares(Op.Compare, *C, Data);
  return std::nullopt;
}

uint32_t AluUnit::tossed(uint32_t U) const {
  U &= Mask;
  if (Op.SrcFloat)
    return U;
  const Slot First = Op.SrcCount ? P.Slots[Op.FirstSrc] : -1;
  const bool IsRegister = First >= 0 && unsigned(First) < P.Registers;
  if (!U || P.isPlain(Op) || (IsRegister && P.FewBits[unsigned(First)]))
    return 0;
  if (const uint32_t One = (unknown(0) ^ unknown(1)) & U; One && P.ComparesLoaded[size_t(&Op - P.Ops.data())]) // a load and a capacity of which only one is known
    return One;
  if (P.Chooses[size_t(&Op - P.Ops.data())]) // keys are no indices, and what is known of one says nothing of the other
    return U;
  // Unknown integers lie in [0, Elements), like real indices: bounds checks,
  // signs and sentinels come out as written, and a few bits of a random number
  // are as random as a coin. Equality and thresholds mean something else in the
  // data than in random numbers.
  const Lanes &B = source(1);
  const unsigned Bits = Op.SrcBits;
  if (isEquality()) {
    const bool NonNegative = IsRegister && Op.SrcSigned && P.NonNegative[unsigned(First)];
    return NonNegative ? lanesWhere(U, [&](unsigned L) { return signExtend(B[L], Bits) >= 0; }) : U;
  }
  const int64_t None = Op.Compare == Relation::Less || Op.Compare == Relation::GreaterEqual ? 1 : 0; // `count < 1` is `count <= 0`
  return comparesWithConstant() ? lanesWhere(U, [&](unsigned L) { return signExtend(B[L], Bits) > None; }) : 0;
}

bool AluUnit::comparesWithConstant() const {
  const Slot Second = Op.SrcCount > 1 ? P.Slots[Op.FirstSrc + 1] : -1;
  return Second >= 0 && unsigned(Second) >= P.Registers;
}

/// `state == FLYING`: equality to a constant that is not zero.
bool AluUnit::isKind() const { return !Op.SrcFloat && isEquality() && comparesWithConstant() && source(1)[0] != 0; }

/// `x < 0 || x >= width` as compilers join it: an unsigned comparison with a constant. Data mostly lie inside.
bool AluUnit::isRange() const {
  constexpr uint64_t Least = 256; // a smaller one may be any threshold
  return !Op.SrcFloat && !Op.SrcSigned && Op.SrcBits == 32 && !isEquality() && comparesWithConstant() && source(1)[0] >= Least;
}

/// How often a first comparison, and not its opposite, holds.
double AluUnit::probability(uint64_t V, uint64_t W) const {
  if (P.InWalk[size_t(&Op - P.Ops.data())])
    return 0.5;
  if (!isRange())
    return share(V, W, isKind());
  const double Outside = std::pow(drawn(V, W, 0), RangeTests - 1);
  return Op.Compare == Relation::Less || Op.Compare == Relation::GreaterEqual ? 1 - Outside : Outside;
}

/// Lanes with heads, one of so many \p Sides: near threads go down a tree together, most of the way.
static uint32_t ofNeighbours(unsigned Toss, unsigned Sides) {
  constexpr unsigned Together = 8;
  uint32_t Out = 0;
  for (unsigned First = 0; First < 32; First += Together)
    if (scramble(uint64_t(Toss) * 32 + First) % Sides == 0)
      Out |= ((1u << Together) - 1) << First;
  return Out;
}

uint32_t AluUnit::toss(uint32_t Tossed) {
  const Lanes &A = source(0), &B = source(1);
  const Relation Rel = Op.Compare;
  const unsigned One = unsigned(std::countr_zero(Mask));
  auto Agrees = [&](const Lanes &V) {
    uint32_t Rest = Mask; // mostly the second lane differs already
    while (Rest && V[unsigned(std::countr_zero(Rest))] == V[One])
      Rest &= Rest - 1;
    return !Rest;
  };
  const bool Range = isRange();
  const unsigned Sides = Range ? RangeTests : isKind() ? 3 : 2; // one of them is heads
  const auto Shown = [&](uint32_t Heads) { return (Range && kindOf(Rel) == 2) != isOpposite(Rel) ? Tossed & ~Heads : Tossed & Heads; };
  if (P.isByStack(Op))
    return Shown(ofNeighbours(R.Coins[&Op]++, Sides));
  // One value for all lanes is one coin for the warp. Few of them are thrown,
  // and no layout shall be lucky: heads and tails take turns.
  if ((Tossed >> One & 1) && std::popcount(Mask) > 1 && Agrees(A) && Agrees(B))
    return Shown(R.Coins[&Op]++ % Sides == 1 ? ~0u : 0);
  const double Probability = probability(A[One], B[One]);
  // A coin that shows heads with that probability, the same for the same values, and the other side for the opposite
  // comparison.
  const uint64_t Kind = kindOf(Rel);
  const uint32_t Heads = lanesWhere(Tossed, [&](unsigned L) { return drawn(A[L], B[L], Kind) < Probability; });
  return isOpposite(Rel) ? Tossed & ~Heads : Heads;
}

void AluUnit::keepPlaceInside() {
  const Program::PlaceSide Side = P.PlaceSides[size_t(&Op - P.Ops.data())];
  if (Side == Program::PlaceSide::None)
    return;
  const unsigned Place = Side == Program::PlaceSide::First ? 0 : 1, Bound = 1 - Place;
  Lanes &At = R.Values[P.Slots[Op.FirstSrc + Place]];
  for (uint32_t Rest = Mask & unknown(Place) & ~unknown(Bound); Rest; Rest &= Rest - 1) {
    const unsigned L = unsigned(std::countr_zero(Rest));
    const int64_t Within = signExtend(source(Bound)[L], Op.SrcBits), Here = signExtend(At[L], Op.SrcBits);
    if (Within > 1 && Here >= Within)
      At[L] = uint64_t(Here % Within);
  }
}

void AluUnit::compare() {
  keepPlaceInside();
  const uint32_t U = Op.SrcFloat && Op.SrcBits < 32 ? ~0u : unknown(0) | unknown(1);
  const std::optional<bool> Usual = U & Mask ? usual() : std::nullopt;
  const uint32_t Tossed = Usual ? 0 : tossed(U), Known = Mask & ~(Usual ? U : Tossed);
  uint32_t Result = Op.SrcFloat ? lanesWhere(Known, [&](unsigned L) { return compares(Op.Compare, real(0, L), real(1, L)); })
                                : lanesThatHold(Op.Compare, source(0), source(1), Op.SrcBits, Op.SrcSigned, Known);
  if (Usual && *Usual)
    Result |= Mask & U;
  if (Tossed)
    Result |= toss(Tossed);
  const uint32_t Unknown = U | unknown(2);
  uint32_t Set = Result, Unset = ~Result;
  if (const Join J = Join(Op.Variant); J != Join::None) {
    const uint32_t Other = lowestBits(source(2)) ^ (Op.NegatedSources >> 2 & 1 ? ~0u : 0);
    auto Joined = [&](uint32_t Lanes) {
      return J == Join::And ? Lanes & Other : J == Join::Or ? Lanes | Other : Lanes ^ Other;
    };
    Set = Joined(Result);
    Unset = Joined(~Result);
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
  // Real data lies inside what it is clamped to, seldom at the border; a neighbour of what lies there is one step beyond.
  constexpr int64_t Steps = 16;
  const int64_t Border = signExtend(Kept, Op.Bits);
  const bool IsNear = signExtend(Other, Op.Bits) - Border <= Steps;
  // What lies side by side stays so.
  return Clamps && Border > 0 && !IsNear ? remainder(lowBits(Other, Op.Bits), Kept + 1) : Kept;
}
