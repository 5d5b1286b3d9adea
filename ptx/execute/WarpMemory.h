// Memory instructions of one warp: which addresses they touch, and what loads
// bring back.
#pragma once

#include "ptx/execute/Alu.h"
#include "ptx/execute/WordStore.h"

namespace restride::ptx {

class WarpMemory {
public:
  /// \p WarpId numbers the warp over the whole grid.
  WarpMemory(const Program &P, const LaunchFacts &Facts, uint64_t WarpId);

  /// Executes a Ld, St, Atom, Red, CpAsync, LdParam or StParam. True: it went
  /// to global, shared or local memory, and \p Out says where.
  bool access(const MicroOp &Op, uint32_t Mask, RegisterFile &R, Request &Out);

  /// What stands for the warp's integers that follow from data.
  DataIntegers data() const { return {Facts.Elements, Facts.LocalData, WarpId * 32, Facts.Grid.count() * Facts.Block.count(), false, 0}; }
  /// data() as far as what \p Op loads is wide enough for it; of its destination \p Part.
  DataIntegers data(const MicroOp &Op, unsigned Part) const;

  /// A run was taken to be as long as in the mean.
  bool tookMeanRuns() const { return MeanRuns; }

  /// Of the array that an index is of; 0: not known.
  uint64_t elementsBehind(const IndexTarget &T) const;
  /// What the launch gives there is not known.
  bool isAssumed(const GivenWord &W) const;

  /// A call that is not followed: what it returns is unknown.
  void call(const Instruction &Call, uint32_t Mask);

private:
  StoredValue read(const MicroOp &Op, unsigned Part, DataIntegers Data, Space Where, unsigned Lane, uint64_t Address) const;
  void write(Space Where, unsigned Lane, uint64_t Address, unsigned Bytes, StoredValue V);
  /// What \p Op loads as its destination \p Part of the function's own parameters; none: Offset is not in them.
  std::optional<StoredValue> argument(const MicroOp &Op, unsigned Part, uint64_t Offset) const;
  /// What is known of a struct that is passed, at \p Offset of the function's parameters.
  std::optional<uint64_t> member(const ParameterSlot &Slot, uint64_t Offset, unsigned Bytes) const;
  /// What \p Op loads of a variable of the module as its destination \p Part; none: that is not known.
  std::optional<StoredValue> symbol(const MicroOp &Op, unsigned Part, uint64_t Address) const;
  /// The array that the global \p Address lies in; null: not known.
  const ArrayPlace *arrayBehind(uint64_t Address) const;
  /// What seeds of addresses in one pointer's range begin with.
  struct Origin {
    uint64_t Range = ~uint64_t(0), Base = 0;
    const ArrayPlace *Array = nullptr; ///< null: how it lies is not known
  };
  Origin originOf(uint64_t Address) const;
  /// Where \p Address, which \p From is of, lies in the source's layout; none: in padding.
  static std::optional<uint64_t> sourceOffset(uint64_t Address, const Origin &From);
  /// What the value at the global \p Address is made from: the same for a field of
  /// an element in all layouts. \p Last is of the address before, mostly in the same range.
  uint64_t seed(uint64_t Address, Origin &Last) const;
  /// Moves addresses that come from data into the arrays they point behind.
  void keepInside(uint32_t Mask, Lanes &Address) const;
  /// Where the run of the entry at \p Address begins, if all are as long as in the mean; none: it is no bound of one, or
  /// sizes are not known.
  std::optional<uint64_t> runBound(const MicroOp &Op, unsigned Part, uint64_t Address) const;
  /// The pseudo-random value behind \p Address.
  static uint64_t leaf(const MicroOp &Op, const DataIntegers &Data, unsigned Lane, uint64_t Address);
  /// The same as \p Op loads it to its destination \p Part, also of floating-point data.
  uint64_t loaded(const MicroOp &Op, unsigned Part, const DataIntegers &Data, unsigned Lane, uint64_t Address) const;

  /// What is known to lie at \p Address in the symbol \p Index.
  std::optional<uint64_t> symbolWord(size_t Index, uint64_t Address, unsigned Bytes) const;
  /// No loaded integer is known: data are all leaves.
  bool knowsNothing() const { return Facts.Orders.empty() && Facts.Known.empty(); }
  bool isReal(const MicroOp &Op, unsigned Part) const { return Part < Op.DestCount && P.Reals[Op.FirstDest + Part]; }
  /// What \p Op loads may be known; floating-point values and pointers never are.
  bool mayKnow(const MicroOp &Op, unsigned Part) const { return !isReal(Op, Part) && !Op.IsPointer && !knowsNothing(); }
  /// The entry of an array of indices that are not random; none: it is a leaf.
  std::optional<uint64_t> ordered(const MicroOp &Op, unsigned Lane, uint64_t Address) const;
  /// The integer at the global \p Address, if that is known.
  std::optional<KnownInteger> known(uint64_t Address) const;
  /// The same as an index that \p Op loads; \p Known is at most guessed.
  std::optional<uint64_t> placed(const KnownInteger &Known, const MicroOp &Op, unsigned Part, uint64_t Address) const;
  /// Elements of the array that \p Address, none of them from data, lie in.
  void remember(uint32_t Mask, const Lanes &Address);
  /// Data only say where in its element a lane goes on, `p[i].x[p[i].kind]`.
  bool staysInElements(uint32_t Mask, const Lanes &Address) const;
  void load(const MicroOp &Op, const Request &Loading, RegisterFile &R);
  void store(const MicroOp &Op, Space Where, uint32_t Mask, const Lanes &Address, const RegisterFile &R);
  void atomic(const MicroOp &Op, Space Where, uint32_t Mask, const Lanes &Address, RegisterFile &R);

  const Program &P;
  const LaunchFacts &Facts;
  const uint64_t WarpId;
  WordStore Local, Parameter, Shared;
  std::vector<const KnownObject *> Symbols;     ///< of AddressMap::symbols
  std::vector<const ArrayPlace *> SymbolArrays; ///< of them; null: it lies as in the source
  /// Where each lane was last in one array, by an address that is not from data.
  struct Elements {
    uint32_t Mask = 0; ///< lanes that were there
    Lanes Address{};
  };
  std::map<uint64_t, Elements> Visited; ///< by Base of their Origin
  bool MeanRuns = false;
  uint64_t Atomics = 0; ///< so far; each returns something new
};

} // namespace restride::ptx
