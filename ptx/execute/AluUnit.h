// The arithmetic unit while it executes one instruction. Its member functions
// are one per kind of instruction, over Alu*.cpp.
#pragma once

#include "ptx/execute/Alu.h"

#include <bit>

namespace restride::ptx {

/// One instruction's view of the registers.
class AluUnit {
public:
  AluUnit(const Program &P, const MicroOp &Op, uint32_t Mask, RegisterFile &R) : P(P), Op(Op), Mask(Mask), R(R) {}

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
    return ((source(I)[Lane] ^ Op.NegatedSources >> I) & 1) != 0;
  }

  /// Writes Fn(lane) to destination \p D, cut to \p Bits.
  template <typename FnT> void write(unsigned D, unsigned Bits, uint32_t Unknown, FnT Fn) {
    const Slot S = D < Op.DestCount ? P.Slots[Op.FirstDest + D] : -1;
    if (S < 0)
      return;
    Lanes &Out = R.Values[S];
    const uint64_t Low = lowBits(~uint64_t(0), Bits);
    if (Mask == ~0u) {
      Lanes V; // nothing that Fn reads changes meanwhile: the compiler can use vectors
      for (unsigned L = 0; L < 32; ++L)
        V[L] = Fn(L) & Low;
      Out = V;
    } else {
      for (uint32_t Rest = Mask; Rest; Rest &= Rest - 1) {
        const unsigned L = unsigned(std::countr_zero(Rest));
        Out[L] = Fn(L) & Low;
      }
    }
    R.Unknown[S] = (R.Unknown[S] & ~Mask) | (Unknown & Mask);
  }
  template <typename FnT> void result(FnT Fn) { write(0, Op.Bits, unknownSources(), Fn); }

  void run(const DataIntegers &Data);

private:
  void opaque();
  void addOrSubtract();
  void multiply();
  /// The source that is known and no constant where the other one is data, as an index from `y * width`.
  std::optional<unsigned> widthOfIndices() const;
  void divide();
  /// What min and the like give: \p Kept. If \p Clamps, that is a known bound on
  /// an unknown \p Other, and the result is some value up to it.
  uint64_t clamped(uint64_t Kept, uint64_t Other, bool Clamps) const;
  void minOrMax();
  void shift();
  void bitField();
  void lowField();
  void bitCount();
  void permute();
  void move();
  /// Source \p I, of SrcBits, as a floating-point value.
  double real(unsigned I, unsigned Lane) const;
  template <typename T> void arithmetic(); ///< of what is known
  void addData();
  void floating();
  void convertKnown(); ///< from or to a floating-point value
  void convert(const DataIntegers &Data);
  void convertAddress();
  /// How a comparison with floating-point data comes out for all but special cases; none: it tells no such.
  std::optional<bool> usual() const;
  bool isEquality() const { return Op.Compare == Relation::Equal || Op.Compare == Relation::NotEqual; }
  bool comparesWithConstant() const;
  bool isKind() const;
  bool isRange() const;
  double probability(uint64_t V, uint64_t W) const;
  /// Lanes whose comparison a coin decides, of \p U with unknown operands.
  uint32_t tossed(uint32_t U) const;
  /// Those of \p Tossed for which the comparison holds.
  uint32_t toss(uint32_t Tossed);
  /// A place in space that is compared with a bound lies inside.
  void keepPlaceInside();
  void compare();
  void select();

  const Program &P;
  const MicroOp &Op;
  const uint32_t Mask;
  RegisterFile &R;
};

} // namespace restride::ptx
