#include "ptx/execute/WarpMemory.h"

#include <bit>

using namespace restride::ptx;

template <typename FnT> static void forLanes(uint32_t Mask, FnT Fn) {
  for (; Mask; Mask &= Mask - 1)
    Fn(unsigned(std::countr_zero(Mask)));
}

/// From the begin of the range of one pointer.
static uint64_t offsetIn(uint64_t Address) { return Address & ((uint64_t(1) << RangeBits) - 1); }

uint64_t WarpMemory::leaf(const MicroOp &Op, const DataIntegers &Data, unsigned Lane, uint64_t Address) {
  if (Op.IsPointer && Op.Bits == 64) {
    // A range of its own, away from those of the parameters.
    constexpr uint64_t First = uint64_t(1) << 55, Ranges = 1 << 14;
    return First + (randomBelow(Address, Ranges) << RangeBits);
  }
  return Data.value(Lane, Address);
}

uint64_t WarpMemory::elementsBehind(int16_t Position) const {
  if (Position < 0 || size_t(Position) >= Facts.Arrays.size() || Facts.Arrays[size_t(Position)].empty())
    return 0;
  return Facts.Arrays[size_t(Position)].front().Elements;
}

std::optional<uint64_t> WarpMemory::runBound(const MicroOp &Op, unsigned Part, uint64_t Address) const {
  if (!P.RunBounds[Op.FirstDest + Part])
    return std::nullopt;
  const ArrayPlace *Own = arrayBehind(Address);
  uint64_t Elements = elementsBehind(P.Targets[Op.FirstDest + Part]);
  if (!Elements) // as many as everything else is taken to have
    Elements = Facts.Elements;
  if (!Own || !Own->Source.empty() || Own->Elements < 2 || Own->Bytes != Own->Elements * Op.ElementBytes || !Elements)
    return std::nullopt;
  const uint64_t Entry = offsetIn(Address) / Op.ElementBytes;
  return std::min(Elements, uint64_t(double(Entry) * double(Elements) / double(Own->Elements - 1)));
}

DataIntegers WarpMemory::data(const MicroOp &Op, unsigned Part) const {
  DataIntegers Data = data();
  if (Op.Bits < 32)
    Data.Elements = std::min(Data.Elements, uint64_t(1) << (Op.Bits - (Op.Signed ? 1 : 0)));
  const int16_t Target = Data.Local && Part < Op.DestCount ? P.Targets[Op.FirstDest + Part] : -1;
  Data.Row = Target == Program::Row;
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

std::optional<StoredValue> WarpMemory::known(uint64_t Address) const {
  const PointerPlace *Behind = P.Addresses.pointerBehind(Address);
  if (!Behind || Behind->Position >= Facts.Known.size() || !Facts.Known[Behind->Position])
    return std::nullopt;
  const std::optional<uint64_t> Offset = sourceOffset(Address, originOf(Address));
  const std::optional<KnownInteger> V = Offset ? Facts.Known[Behind->Position](*Offset) : std::nullopt;
  return V ? std::optional(StoredValue{uint64_t(V->Value), V->Scattered}) : std::nullopt;
}

std::optional<StoredValue> WarpMemory::argument(const MicroOp &Op, unsigned Part, uint64_t Offset) const {
  const ParameterSlot *Slot = P.Addresses.parameterAt(Offset);
  if (!Slot)
    return std::nullopt;
  const bool Whole = Slot->Bytes == Slot->Ty.bytes();
  if (isReal(Op, Part) || (Whole && Slot->Ty.K == Type::Float)) {
    if (!Whole || Slot->Position >= Facts.Reals.size() || !Facts.Reals[Slot->Position] || Op.ElementBytes < 4)
      return StoredValue{scramble(Offset + 1), true};
    const double V = *Facts.Reals[Slot->Position];
    return StoredValue{Op.ElementBytes == 4 ? std::bit_cast<uint32_t>(float(V)) : std::bit_cast<uint64_t>(V), false};
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
  const PointerPlace *Behind = P.Addresses.pointerBehind(Address);
  if (!Behind)
    return {Range, Range << RangeBits, nullptr};
  // Numbered by parameter: layouts differ in how many pointers they have.
  const uint64_t Parameter = (uint64_t(Behind->Position) + 1) << (RangeBits + 12);
  if (const ArrayPlace *Array = arrayBehind(Address); Array && !Array->Source.empty())
    return {Range, Parameter, Array};
  return {Range, Parameter + (uint64_t(Behind->Word) << RangeBits), nullptr};
}

/// \p A / \p B and the remainder: mostly small numbers, which divide faster.
static std::pair<uint64_t, uint64_t> divide(uint64_t A, uint64_t B) {
  if ((A | B) >> 32)
    return {A / B, A % B};
  return {uint32_t(A) / uint32_t(B), uint32_t(A) % uint32_t(B)};
}

std::optional<uint64_t> WarpMemory::sourceOffset(uint64_t Address, const Origin &From) {
  const uint64_t Offset = offsetIn(Address);
  if (!From.Array)
    return Offset;
  const auto [Tile, At] = divide(Offset, From.Array->TileBytes);
  const uint32_t Source = From.Array->Source[At];
  return Source == ~0u ? std::nullopt : std::optional(Tile * From.Array->SourceBytes + Source);
}

uint64_t WarpMemory::seed(uint64_t Address, Origin &Last) const {
  if (Address >> RangeBits != Last.Range)
    Last = originOf(Address);
  return Last.Base + sourceOffset(Address, Last).value_or(offsetIn(Address));
}

void WarpMemory::keepInside(uint32_t Mask, Lanes &Address) const {
  constexpr uint64_t Offset = (uint64_t(1) << RangeBits) - 1;
  uint64_t Range = ~uint64_t(0), Bytes = 0; // of the lane before: mostly the same
  forLanes(Mask, [&](unsigned L) {
    if (Address[L] >> RangeBits != Range) {
      Range = Address[L] >> RangeBits;
      const ArrayPlace *Array = arrayBehind(Address[L]);
      Bytes = Array ? Array->Bytes : 0;
    }
    if (Bytes && (Address[L] & Offset) >= Bytes)
      Address[L] = (Address[L] & ~Offset) + (Address[L] & Offset) % Bytes;
  });
}

StoredValue WarpMemory::read(const MicroOp &Op, unsigned Part, const DataIntegers &Data, Space Where, unsigned Lane, uint64_t Address) const {
  std::optional<StoredValue> V;
  if (Where == Space::Local)
    V = Local.load(Lane, Address, Op.ElementBytes);
  else if (Where == Space::Shared)
    V = Shared.load(0, Address, Op.ElementBytes);
  else if (Where == Space::Param) {
    V = argument(Op, Part, Address);
    if (!V)
      V = Parameter.load(Lane, Address, Op.ElementBytes);
  }
  if (V)
    return *V;
  if (Where == Space::Global && mayKnow(Op, Part)) {
    if (std::optional<uint64_t> Entry = ordered(Op, Lane, Address))
      return {*Entry, false};
    if (std::optional<StoredValue> Known = known(Address))
      return *Known;
  }
  // Local memory of different lanes is different memory.
  Origin Seen;
  const uint64_t Seed = Where == Space::Local ? Address * 32 + Lane : seed(Address, Seen);
  return {leaf(Op, Data, Lane, Seed ^ window(Where)), true};
}

void WarpMemory::write(Space Where, unsigned Lane, uint64_t Address, unsigned Bytes, StoredValue V) {
  if (Where == Space::Local)
    Local.store(Lane, Address, Bytes, V);
  else if (Where == Space::Shared)
    Shared.store(0, Address, Bytes, V);
  else if (Where == Space::Param)
    Parameter.store(Lane, Address, Bytes, V);
}

void WarpMemory::load(const MicroOp &Op, Space Where, uint32_t Mask, const Lanes &Address, RegisterFile &R) {
  // Narrow signed values extend to the register they are loaded into.
  const bool Extends = Op.Signed && Op.Bits < 32;
  auto Register = [&](uint64_t V) {
    return Extends ? lowBits(uint64_t(signExtend(V, Op.Bits)), 32) : lowBits(V, Op.Bits);
  };
  // An argument is the same for all lanes, and looking it up takes time.
  const bool Uniform = Where == Space::Param && unsigned(Op.Address) >= P.Registers;
  Origin Seen;
  const bool IsPlain = !Facts.LocalData && !(Op.IsPointer && Op.Bits == 64); // as leaf() has it
  for (unsigned D = 0; D < Op.DestCount; ++D) {
    const Slot To = P.Slots[Op.FirstDest + D];
    if (To < 0)
      continue;
    Lanes &Out = R.Values[To];
    const DataIntegers Data = data(Op, D);
    const uint64_t Behind = uint64_t(D) * Op.ElementBytes;
    const bool IsLeaf = Where == Space::Global && !mayKnow(Op, D);
    const std::optional<StoredValue> Argument = Uniform ? argument(Op, D, Address[0] + Behind) : std::nullopt;
    uint32_t Unknown = 0;
    if (Argument) {
      Unknown = Argument->Unknown ? Mask : 0;
      forLanes(Mask, [&, V = Register(Argument->Bits)](unsigned L) { Out[L] = V; });
    } else if (Where == Space::Global && P.RunBounds[Op.FirstDest + D]) {
      const uint32_t FromData = R.Unknown[Op.Address];
      forLanes(Mask, [&](unsigned L) {
        const uint64_t At = Address[L] + Behind;
        const bool IsOrdered = !IsLeaf && ordered(Op, L, At); // as the configuration says
        std::optional<uint64_t> Bound;
        if (!(FromData >> L & 1) && !IsOrdered) {
          // However far apart the host puts them: runs follow each other.
          const std::optional<StoredValue> Known = IsLeaf ? std::nullopt : known(At);
          Bound = Known ? Known->Bits : runBound(Op, D, At);
          MeanRuns |= Bound && !Known;
        }
        const StoredValue V = Bound ? StoredValue{*Bound, false} : read(Op, D, Data, Where, L, At);
        Out[L] = Register(V.Bits);
        Unknown |= uint32_t(V.Unknown) << L;
      });
    } else if (IsLeaf) {
      Unknown = Mask;
      if (IsPlain)
        forLanes(Mask, [&](unsigned L) { Out[L] = Register(randomBelow(seed(Address[L] + Behind, Seen), Data.Elements)); });
      else
        forLanes(Mask, [&](unsigned L) { Out[L] = Register(leaf(Op, Data, L, seed(Address[L] + Behind, Seen))); });
    } else
      forLanes(Mask, [&](unsigned L) {
        const StoredValue V = read(Op, D, Data, Where, L, Address[L] + Behind);
        Out[L] = Register(V.Bits);
        Unknown |= uint32_t(V.Unknown) << L;
      });
    R.Unknown[To] = (R.Unknown[To] & ~Mask) | Unknown;
  }
}

void WarpMemory::store(const MicroOp &Op, Space Where, uint32_t Mask, const Lanes &Address, const RegisterFile &R) {
  if (Where == Space::Global || Where == Space::Const)
    return;
  for (unsigned S = 0; S < Op.SrcCount; ++S) {
    const Slot From = P.Slots[Op.FirstSrc + S];
    if (From < 0)
      continue;
    forLanes(Mask, [&](unsigned L) {
      write(Where, L, Address[L] + uint64_t(S) * Op.ElementBytes, Op.ElementBytes,
            {R.Values[From][L], (R.Unknown[From] >> L & 1) != 0});
    });
  }
}

void WarpMemory::atomic(const MicroOp &Op, Space Where, uint32_t Mask, const Lanes &Address, RegisterFile &R) {
  ++Atomics;
  const uint64_t First = Address[unsigned(std::countr_zero(Mask))];
  bool OneAddress = true;
  forLanes(Mask, [&](unsigned L) { OneAddress &= Address[L] == First; });
  // Lanes that add to one counter get consecutive slots, as if all warps of the
  // grid, or of the block, came in their order, time after time.
  const bool Counts = OneAddress && Mode(Op.Variant) == Mode::Add && !Op.Float && !(R.Unknown[Op.Address] & Mask);
  const uint64_t Block = Facts.Block.count(), Warps = (Block + 31) / 32;
  const uint64_t Before = Where == Space::Shared ? (Atomics - 1) * Block + WarpId % Warps * 32
                                                 : (Atomics - 1) * Block * Facts.Grid.count() + WarpId * 32;
  for (unsigned D = 0; D < Op.DestCount; ++D) {
    const Slot To = P.Slots[Op.FirstDest + D];
    if (To < 0)
      continue;
    uint64_t Rank = 0;
    forLanes(Mask, [&, Data = data(Op, D)](unsigned L) {
      const uint64_t Other = leaf(Op, Data, L, (Address[L] ^ window(Where)) + (Atomics << 20) + D);
      R.Values[To][L] = lowBits(Counts ? Before + Rank++ : Other, Op.Bits);
    });
    R.Unknown[To] = Counts ? R.Unknown[To] & ~Mask : R.Unknown[To] | Mask;
  }
  forLanes(Mask, [&, Data = data(Op, 0)](unsigned L) {
    write(Where, L, Address[L], Op.ElementBytes, {leaf(Op, Data, L, Address[L] + (Atomics << 20)), true});
  });
}

/// What a program makes of data that lie in order need not: hashes.
static bool isScattered(uint32_t Mask, const Lanes &Address, uint64_t Elements) {
  uint64_t Low = ~0ull, High = 0;
  forLanes(Mask, [&](unsigned L) {
    Low = std::min(Low, Address[L]);
    High = std::max(High, Address[L]);
  });
  constexpr uint64_t Near = 1 << 16; // bytes, of what 32 large records in a row take
  return High - Low > std::max(Elements, Near);
}

bool WarpMemory::access(const MicroOp &Op, uint32_t Mask, RegisterFile &R, Request &Out) {
  if (!Mask || Op.Address < 0)
    return false;
  Space Where = Op.Mem;
  Lanes Address;
  for (unsigned L = 0; L < 32; ++L)
    Address[L] = R.Values[Op.Address][L] + uint64_t(Op.Offset);
  if (Where == Space::Generic || Where == Space::None) {
    // Lanes of one instruction hardly ever mix spaces: the first one decides.
    Where = spaceOf(Address[unsigned(std::countr_zero(Mask))]);
    if (Where != Space::Global && Where != Space::Const)
      for (uint64_t &A : Address)
        A &= OffsetMask;
  }
  Out.Mask = Mask;
  Out.Mem = Where;
  const bool FromData = (R.Unknown[Op.Address] & Mask) != 0;
  Out.DependsOnLoad = FromData && (!Facts.LocalData || isScattered(Mask, Address, Facts.Elements));
  if (Where == Space::Local) {
    // As the hardware interleaves it: the same offset of all lanes in a row.
    const uint64_t Base = window(Space::Local) | ((WarpId & 0xfffffffff) << 24);
    const uint64_t Bytes = uint64_t(Op.ElementBytes) * Op.Vector;
    for (unsigned L = 0; L < 32; ++L)
      Out.Address[L] = Base + (Address[L] & 0x7ffff) * 32 + L * Bytes;
  } else {
    if (Where == Space::Global && (FromData || !knowsNothing()))
      keepInside(Mask, Address);
    Out.Address = Address;
  }

  switch (Op.Op) {
  case Opcode::Ld:
  case Opcode::LdParam:
    load(Op, Where, Mask, Address, R);
    break;
  case Opcode::St:
  case Opcode::StParam:
    store(Op, Where, Mask, Address, R);
    break;
  case Opcode::Atom:
  case Opcode::Red:
    atomic(Op, Where, Mask, Address, R);
    break;
  default: // CpAsync: what arrives in shared memory is loaded data, as if never stored
    break;
  }
  return Where == Space::Global || Where == Space::Shared || Where == Space::Local;
}

void WarpMemory::call(const Instruction &Call, uint32_t Mask) {
  for (const Operand &Result : Call.Dest) {
    const AddressMap::CallBlock Block = P.Addresses.callBlock(Result.Name);
    forLanes(Mask, [&](unsigned L) { Parameter.forget(L, Block.Offset, Block.Bytes); });
  }
}
