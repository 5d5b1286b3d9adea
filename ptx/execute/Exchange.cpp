#include "ptx/execute/Exchange.h"

#include <bit>

using namespace restride::ptx;

namespace {

class Exchanger {
public:
  Exchanger(const Program &P, const MicroOp &Op, uint32_t Mask, RegisterFile &R) : P(P), Op(Op), Mask(Mask), R(R) {}
  void run();

private:
  Slot source(unsigned I) const { return I < Op.SrcCount ? P.Slots[Op.FirstSrc + I] : -1; }
  uint64_t value(unsigned I, unsigned Lane) const { return source(I) < 0 ? 0 : R.Values[source(I)][Lane]; }
  uint32_t unknown(unsigned I) const { return source(I) < 0 ? 0 : R.Unknown[source(I)]; }
  void write(unsigned D, const Lanes &V, uint32_t Unknown);
  void shuffle();
  void vote();
  void match();
  void reduce();

  const Program &P;
  const MicroOp &Op;
  const uint32_t Mask;
  RegisterFile &R;
};

} // namespace

void Exchanger::write(unsigned D, const Lanes &V, uint32_t Unknown) {
  const Slot To = D < Op.DestCount ? P.Slots[Op.FirstDest + D] : -1;
  if (To < 0)
    return;
  for (unsigned L = 0; L < 32; ++L)
    if (Mask >> L & 1)
      R.Values[To][L] = V[L];
  R.Unknown[To] = (R.Unknown[To] & ~Mask) | (Unknown & Mask);
}

/// PTX ISA, shfl.sync: the third source packs a clamp (bits 0-4) and a segment
/// mask (bits 8-12).
void Exchanger::shuffle() {
  Lanes Value{}, InRange{};
  uint32_t Unknown = 0;
  for (unsigned L = 0; L < 32; ++L) {
    const int By = int(value(1, L) & 0x1f), Clamp = int(value(2, L) & 0x1f), Segment = int(value(2, L) >> 8 & 0x1f);
    const int Lane = int(L), Most = (Lane & Segment) | (Clamp & ~Segment), Least = Lane & Segment;
    int From = 0;
    bool Inside = false;
    switch (Mode(Op.Variant)) {
    case Mode::Up:
      From = Lane - By;
      Inside = From >= Most;
      break;
    case Mode::Down:
      From = Lane + By;
      Inside = From <= Most;
      break;
    case Mode::Butterfly:
      From = Lane ^ By;
      Inside = From <= Most;
      break;
    default:
      From = Least | (By & ~Segment);
      Inside = From <= Most;
      break;
    }
    if (!Inside)
      From = Lane;
    Value[L] = value(0, unsigned(From) & 31);
    InRange[L] = Inside;
    Unknown |= (unknown(0) >> (From & 31) & 1) << L;
  }
  Unknown |= unknown(1);
  write(0, Value, Unknown);
  write(1, InRange, unknown(1));
}

void Exchanger::vote() {
  uint32_t Set = 0;
  const bool Negated = Op.NegatedSources & 1;
  for (unsigned L = 0; L < 32; ++L)
    Set |= uint32_t(((value(0, L) & 1) != 0) != Negated) << L;
  Set &= Mask;
  uint64_t Result = Set;
  if (Mode(Op.Variant) == Mode::Any)
    Result = Set != 0;
  if (Mode(Op.Variant) == Mode::All)
    Result = Set == Mask;
  if (Mode(Op.Variant) == Mode::Uniform)
    Result = Set == Mask || Set == 0;
  Lanes V;
  V.fill(Result);
  write(0, V, (unknown(0) & Mask) ? ~0u : 0);
}

void Exchanger::match() {
  Lanes Same{};
  bool AllSame = true;
  for (unsigned L = 0; L < 32; ++L)
    for (unsigned M = 0; M < 32; ++M)
      if ((Mask >> L & 1) && (Mask >> M & 1)) {
        const bool Equal = value(0, L) == value(0, M);
        Same[L] |= uint64_t(Equal) << M;
        AllSame &= Equal;
      }
  const uint32_t Unknown = (unknown(0) & Mask) ? ~0u : 0;
  if (Mode(Op.Variant) == Mode::All) {
    Same.fill(AllSame ? Mask : 0);
    Lanes Flag;
    Flag.fill(AllSame);
    write(1, Flag, Unknown);
  }
  write(0, Same, Unknown);
}

void Exchanger::reduce() {
  uint64_t Total = 0;
  bool First = true;
  for (unsigned L = 0; L < 32; ++L) {
    if (!(Mask >> L & 1))
      continue;
    const uint64_t V = value(0, L);
    if (First) {
      Total = V;
      First = false;
      continue;
    }
    switch (Mode(Op.Variant)) {
    case Mode::Min:
      Total = holds(Relation::Less, V, Total, Op.Bits, Op.Signed) ? V : Total;
      break;
    case Mode::Max:
      Total = holds(Relation::Greater, V, Total, Op.Bits, Op.Signed) ? V : Total;
      break;
    case Mode::And:
      Total &= V;
      break;
    case Mode::Or:
      Total |= V;
      break;
    case Mode::Xor:
      Total ^= V;
      break;
    default:
      Total += V;
      break;
    }
  }
  Lanes Out;
  Out.fill(lowBits(Total, Op.Bits));
  write(0, Out, (unknown(0) & Mask) ? ~0u : 0);
}

void Exchanger::run() {
  switch (Op.Op) {
  case Opcode::Shfl:
    return shuffle();
  case Opcode::Vote:
    return vote();
  case Opcode::Match:
    return match();
  case Opcode::Redux:
    return reduce();
  case Opcode::Activemask: {
    Lanes Out;
    Out.fill(Mask);
    return write(0, Out, 0);
  }
  default: { // elect: the lowest lane leads
    const unsigned Leader = unsigned(std::countr_zero(Mask)) & 31;
    Lanes Number, Flag{};
    Number.fill(Leader);
    Flag[Leader] = 1;
    write(0, Number, 0);
    write(1, Flag, 0);
  }
  }
}

void restride::ptx::exchange(const Program &P, const MicroOp &Op, uint32_t Mask, RegisterFile &R) {
  Exchanger(P, Op, Mask, R).run();
}
