// What stands for the values that a warp loads: arguments, what is known of the
// arrays, and what is drawn at random, the same for an element in each layout.
#include "ptx/execute/WarpMemory.h"

#include <cmath>

using namespace restride::ptx;

/// From the begin of the range of one pointer.
static uint64_t offsetIn(uint64_t Address) { return Address & ((uint64_t(1) << RangeBits) - 1); }

uint64_t WarpMemory::loaded(const MicroOp &Op, unsigned Part, const DataIntegers &Data, unsigned Lane, uint64_t Address) const {
  return isReal(Op, Part) ? RealData::of(scramble(Address)) : leaf(Op, Data, Lane, Address);
}

uint64_t WarpMemory::leaf(const MicroOp &Op, const DataIntegers &Data, unsigned Lane, uint64_t Address) {
  if (Op.IsPointer && Op.Bits == 64) {
    // A range of its own, away from those of the parameters.
    constexpr uint64_t First = uint64_t(1) << 55, Ranges = 1 << 14;
    return First + (randomBelow(Address, Ranges) << RangeBits);
  }
  return Data.value(Lane, Address);
}

uint64_t WarpMemory::elementsBehind(const IndexTarget &T) const {
  if (T.Position < 0 || size_t(T.Position) >= Facts.Arrays.size() || T.Word >= Facts.Arrays[size_t(T.Position)].size())
    return 0;
  return Facts.Arrays[size_t(T.Position)][T.Word].Elements;
}

std::optional<uint64_t> WarpMemory::runBound(const MicroOp &Op, unsigned Part, uint64_t Address) const {
  const RunBound Bound = P.RunBounds[Op.FirstDest + Part];
  const ArrayPlace *Own = Bound == RunBound::None ? nullptr : arrayBehind(Address);
  if (!Own || Own->Elements < 2)
    return std::nullopt;
  const uint64_t EntryBytes = Own->RecordBytes ? Own->RecordBytes : Op.ElementBytes;
  // An entry more than there are runs, unless each run has its own end.
  const bool HasEnds = EntryBytes > Op.ElementBytes || Bound >= RunBound::OwnBegin;
  uint64_t Elements = elementsBehind(P.Targets[Op.FirstDest + Part]);
  if (!Elements && !HasEnds) // as many as everything else is taken to have
    Elements = Facts.Elements;
  const std::optional<uint64_t> Offset = sourceOffset(Address, originOf(Address));
  if (!Elements || !Offset || (!Own->RecordBytes && Own->Bytes != Own->Elements * EntryBytes))
    return std::nullopt;
  const bool IsEnd = Bound == RunBound::OwnEnd || (Bound == RunBound::Next && HasEnds);
  const double Runs = double(Own->Elements - (HasEnds ? 0 : 1));
  // Lengths vary as numbers of events do that nothing ties to each other, by the root of their mean.
  const double Mean = double(Elements) / Runs, Spread = std::min(Mean, std::sqrt(6 * Mean));
  auto beginOf = [&](uint64_t Run) {
    const double Late = Run == 0 || double(Run) >= Runs ? 0 : Spread * fraction(scramble(Run));
    return std::min(Elements, uint64_t(double(Run) * Mean + Late));
  };
  const uint64_t Run = *Offset / EntryBytes;
  return Bound == RunBound::OwnCount ? beginOf(Run + 1) - beginOf(Run) : beginOf(Run + IsEnd);
}

DataIntegers WarpMemory::data(const MicroOp &Op, unsigned Part) const {
  DataIntegers Data = data();
  if (Op.Bits < 32)
    Data.Elements = std::min(Data.Elements, uint64_t(1) << (Op.Bits - (Op.Signed ? 1 : 0)));
  const IndexTarget Target = Data.Local && Part < Op.DestCount ? P.Targets[Op.FirstDest + Part] : IndexTarget();
  Data.Row = Target.Position == IndexTarget::Row;
  Data.Target = elementsBehind(Target);
  if (Op.Op == Opcode::Cvt) // places, which are no further apart than the threads
    Data.Target = std::min(Data.Target, Data.Threads);
  return Data;
}

std::optional<uint64_t> WarpMemory::ordered(const MicroOp &Op, unsigned Lane, uint64_t Address) const {
  const PointerPlace *Behind = P.Addresses.pointerBehind(Address);
  if (!Behind || Behind->Position >= Facts.Orders.size() || Facts.Orders[Behind->Position] == IndexOrder::Random)
    return std::nullopt;
  uint64_t Count = std::max<uint64_t>(Facts.Elements, 1);
  if (Op.Bits < 32)
    Count = std::min(Count, uint64_t(1) << (Op.Bits - (Op.Signed ? 1 : 0)));
  if (Facts.Orders[Behind->Position] == IndexOrder::Sorted) {
    const uint64_t Entry = offsetIn(Address) / Op.ElementBytes;
    return (Entry + randomBelow(Address, 2)) % Count;
  }
  return data().near(Lane, Address, 64) % Count;
}

std::optional<KnownInteger> WarpMemory::known(uint64_t Address) const {
  const PointerPlace *Behind = P.Addresses.pointerBehind(Address);
  if (!Behind || Behind->Position >= Facts.Known.size() || !Facts.Known[Behind->Position])
    return std::nullopt;
  const ArrayPlace *Array = arrayBehind(Address);
  const std::optional<uint64_t> Offset = sourceOffset(Address, originOf(Address));
  return Offset ? Facts.Known[Behind->Position](Array ? Array->Word : 0, *Offset) : std::nullopt;
}

std::optional<uint64_t> WarpMemory::placed(const KnownInteger &Known, const MicroOp &Op, unsigned Part, uint64_t Address) const {
  if (!Known.Guessed)
    return uint64_t(Known.Value);
  const size_t Dest = Op.FirstDest + Part;
  const IndexTarget Target = P.Targets[Dest];
  if (P.InWalk[size_t(&Op - P.Ops.data())])
    return std::nullopt;
  // As far from the array's begin as the entry is from that of its own.
  const ArrayPlace *Own = arrayBehind(Address);
  const uint64_t Entries = Own ? Own->Elements : 0, Elements = elementsBehind(Target);
  return Entries && Elements ? uint64_t(double(Known.Value) * double(Elements) / double(Entries)) : uint64_t(Known.Value);
}

/// No struct.
static bool isWhole(const ParameterSlot &Slot) { return Slot.Bytes == Slot.Ty.bytes(); }

std::optional<uint64_t> WarpMemory::symbolWord(size_t Index, uint64_t Address, unsigned Bytes) const {
  const KnownObject &Object = *Symbols[Index];
  if (!SymbolArrays[Index])
    return Object.word(offsetIn(Address), Bytes, P.Addresses.symbols()[Index].Bytes);
  const std::optional<uint64_t> Offset = sourceOffset(Address, originOf(Address));
  return Offset ? Object.word(*Offset, Bytes, Object.Bytes.size()) : std::nullopt;
}

std::optional<StoredValue> WarpMemory::symbol(const MicroOp &Op, unsigned Part, uint64_t Address) const {
  const std::optional<size_t> Index = AddressMap::symbolBehind(Address);
  if (!Index || *Index >= Symbols.size())
    return std::nullopt;
  if (const std::optional<uint64_t> Word = symbolWord(*Index, Address, Op.ElementBytes))
    return StoredValue{*Word, false};
  // A scalar of constant memory is an argument by another way.
  if (Op.Mem == Space::Const && Op.Address >= Slot(P.Registers) && Op.ElementBytes >= 4 && !Op.IsPointer && !isReal(Op, Part))
    return StoredValue{uint64_t(Facts.DefaultInteger), false};
  return std::nullopt;
}

bool WarpMemory::isAssumed(const GivenWord &W) const {
  if (const std::optional<size_t> Index = AddressMap::symbolBehind(W.Address); Index && *Index < Symbols.size())
    return !symbolWord(*Index, W.Address, W.Bytes);
  const ParameterSlot *Slot = P.Addresses.parameterAt(W.Address);
  return !Slot || (isWhole(*Slot) ? Slot->Position >= Facts.Arguments.size() || !Facts.Arguments[Slot->Position]
                                  : !member(*Slot, W.Address, W.Bytes));
}

std::optional<uint64_t> WarpMemory::member(const ParameterSlot &Slot, uint64_t Offset, unsigned Bytes) const {
  return Slot.Position < Facts.Objects.size() ? Facts.Objects[Slot.Position].word(Offset - Slot.Offset, Bytes, Slot.Bytes) : std::nullopt;
}

std::optional<StoredValue> WarpMemory::argument(const MicroOp &Op, unsigned Part, uint64_t Offset) const {
  const ParameterSlot *Slot = P.Addresses.parameterAt(Offset);
  if (!Slot)
    return std::nullopt;
  const bool Whole = isWhole(*Slot);
  if (const std::optional<uint64_t> Word = Whole ? std::nullopt : member(*Slot, Offset, Op.ElementBytes))
    return StoredValue{*Word, false};
  if (isReal(Op, Part) || (Whole && Slot->Ty.K == Type::Float)) {
    // By its place in the source: layouts have parameters of other sizes.
    const StoredValue Drawn = {RealData::of(scramble((uint64_t(Slot->Position + 1) << 32) + Offset - Slot->Offset)), true};
    const bool Known = Whole && Op.ElementBytes >= 4 && Slot->Position < Facts.Reals.size() && Facts.Reals[Slot->Position];
    return Known ? StoredValue{wordOf(*Facts.Reals[Slot->Position], Op.ElementBytes * 8u), false} : Drawn;
  }
  std::optional<int64_t> Given;
  if (Whole && Slot->Position < Facts.Arguments.size())
    Given = Facts.Arguments[Slot->Position];
  const bool Wide = Op.ElementBytes == 8;
  if (Wide && !Given && (Op.IsPointer || Slot->IsPointer)) {
    const uint64_t Word = Slot->FirstWord + (Offset - Slot->Offset) / 8;
    return StoredValue{(Word + 1) << RangeBits, false};
  }
  int64_t Value = Given.value_or(Facts.DefaultInteger);
  if (!Given && Op.ElementBytes < 4) // keep it positive, and a bool true
    Value = std::min<int64_t>(Value, Op.ElementBytes == 1 ? 0x7f : 0x7fff);
  return StoredValue{uint64_t(Value), false};
}

const ArrayPlace *WarpMemory::arrayBehind(uint64_t Address) const {
  const PointerPlace *Behind = P.Addresses.pointerBehind(Address);
  if (!Behind || Behind->Position >= Facts.Arrays.size())
    return nullptr;
  const std::vector<ArrayPlace> &Arrays = Facts.Arrays[Behind->Position];
  return Behind->Word < Arrays.size() ? &Arrays[Behind->Word] : nullptr;
}

WarpMemory::Origin WarpMemory::originOf(uint64_t Address) const {
  const uint64_t Range = Address >> RangeBits;
  if (const std::optional<size_t> Index = AddressMap::symbolBehind(Address); Index && *Index < Symbols.size())
    return {Range, P.Addresses.symbols()[*Index].Seed, SymbolArrays[*Index]};
  const PointerPlace *Behind = P.Addresses.pointerBehind(Address);
  if (!Behind)
    return {Range, Range << RangeBits, nullptr};
  // Numbered by parameter, and by place in it in the source: layouts differ in how many pointers they have.
  const uint64_t Parameter = (uint64_t(Behind->Position) + 1) << (RangeBits + 12);
  if (const ArrayPlace *Array = arrayBehind(Address); Array && (!Array->Source.empty() || Array->Word))
    return {Range, Parameter + (uint64_t(Array->Word) << RangeBits), Array->Source.empty() ? nullptr : Array};
  return {Range, Parameter + (uint64_t(Behind->Word) << RangeBits), nullptr};
}

/// \p A / \p B and the remainder: mostly small numbers, which divide faster.
static std::pair<uint64_t, uint64_t> divide(uint64_t A, uint64_t B) {
  if ((A | B) >> 32)
    return {A / B, A % B};
  return {uint32_t(A) / uint32_t(B), uint32_t(A) % uint32_t(B)};
}

std::optional<uint64_t> WarpMemory::sourceOffset(uint64_t Address, const Origin &From) {
  uint64_t Offset = offsetIn(Address), Before = 0; // bytes of tiles
  if (!From.Array)
    return Offset;
  if (From.Array->PitchBytes) {
    const auto [Array, Rest] = divide(Offset, From.Array->PitchBytes);
    Before = Array * From.Array->TileBytes;
    Offset = Rest;
  }
  const auto [Tile, InTile] = divide(Offset, From.Array->TileBytes);
  const uint64_t At = Before + InTile;
  if (At >= From.Array->Source.size()) // behind the last array
    return std::nullopt;
  const uint32_t Source = From.Array->Source[At];
  return Source == ~0u ? std::nullopt : std::optional(Tile * From.Array->SourceBytes + Source);
}

uint64_t WarpMemory::seed(uint64_t Address, Origin &Last) const {
  if (Address >> RangeBits != Last.Range)
    Last = originOf(Address);
  return Last.Base + sourceOffset(Address, Last).value_or(offsetIn(Address));
}
