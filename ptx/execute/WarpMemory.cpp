#include "ptx/execute/WarpMemory.h"

#include <bit>

using namespace restride::ptx;

template <typename FnT> static void forLanes(uint32_t Mask, FnT Fn) {
  for (; Mask; Mask &= Mask - 1)
    Fn(unsigned(std::countr_zero(Mask)));
}

WarpMemory::WarpMemory(const Program &P, const LaunchFacts &Facts, uint64_t WarpId)
    : P(P), Facts(Facts), WarpId(WarpId), Local(32), Parameter(32), Shared(1) {
  for (const SymbolPlace &S : P.Addresses.symbols()) {
    const auto Known = Facts.Symbols.find(S.Name);
    Symbols.push_back(Known != Facts.Symbols.end() ? &Known->second : &S.Initial);
    const auto Moved = Facts.SymbolArrays.find(S.Name);
    SymbolArrays.push_back(Moved != Facts.SymbolArrays.end() ? &Moved->second : nullptr);
  }
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

StoredValue WarpMemory::read(const MicroOp &Op, unsigned Part, DataIntegers Data, Space Where, unsigned Lane, uint64_t Address) const {
  std::optional<StoredValue> V;
  Origin Seen;
  if (Where == Space::Local)
    V = Local.load(Lane, Address, Op.ElementBytes);
  else if (Where == Space::Shared)
    V = Shared.load(0, Address, Op.ElementBytes);
  else if (Where == Space::Param) {
    V = argument(Op, Part, Address);
    if (!V)
      V = Parameter.load(Lane, Address, Op.ElementBytes);
  }
  if (!V && !Symbols.empty())
    V = symbol(Op, Part, Address);
  if (V)
    return *V;
  if (Where == Space::Global && mayKnow(Op, Part)) {
    if (std::optional<uint64_t> Entry = ordered(Op, Lane, Address))
      return {*Entry, false};
    constexpr int64_t Few = 64; // kinds and states: what is asked of them means what it says
    if (const std::optional<KnownInteger> Known = known(Address); Known && Known->Below && Known->Value <= Few)
      return {randomBelow(seed(Address, Seen), uint64_t(Known->Value)), false};
    else if (Known && Known->Below)
      Data = {std::min(Data.Elements, uint64_t(Known->Value))};
    else if (Known)
      if (const std::optional<uint64_t> Value = placed(*Known, Op, Part, Address))
        return {*Value, Known->Scattered};
  }
  // Local memory of different lanes is different memory, but what nobody was seen to lay on their stacks.
  const bool OnStack = Where == Space::Local && P.isByStack(Op);
  Data.Local &= !OnStack;
  const uint64_t Seed = OnStack ? Address : Where == Space::Local ? Address * 32 + Lane : seed(Address, Seen);
  return {loaded(Op, Part, Data, Lane, Seed ^ window(Where)), true};
}

void WarpMemory::write(Space Where, unsigned Lane, uint64_t Address, unsigned Bytes, StoredValue V) {
  if (Where == Space::Local)
    Local.store(Lane, Address, Bytes, V);
  else if (Where == Space::Shared)
    Shared.store(0, Address, Bytes, V);
  else if (Where == Space::Param)
    Parameter.store(Lane, Address, Bytes, V);
}

void WarpMemory::load(const MicroOp &Op, const Request &Loading, RegisterFile &R) {
  const Space Where = Loading.Mem;
  const uint32_t Mask = Loading.Mask;
  const Lanes &Address = Loading.Address;
  // Narrow signed values extend to the register they are loaded into.
  const bool Extends = Op.Signed && Op.Bits < 32;
  auto Register = [&](uint64_t V) {
    return Extends ? lowBits(uint64_t(signExtend(V, Op.Bits)), 32) : lowBits(V, Op.Bits);
  };
  // An argument is the same for all lanes, and looking it up takes time.
  const bool Uniform = Where == Space::Param && unsigned(Op.Address) >= P.Registers;
  const bool IsSymbol = AddressMap::symbolBehind(Address[unsigned(std::countr_zero(Mask))]).has_value();
  Origin Seen;
  const bool IsPlain = !Facts.LocalData && !(Op.IsPointer && Op.Bits == 64); // as leaf() has it
  for (unsigned D = 0; D < Op.DestCount; ++D) {
    const Slot To = P.Slots[Op.FirstDest + D];
    if (To < 0)
      continue;
    Lanes &Out = R.Values[To];
    DataIntegers Data = data(Op, D);
    Data.Local &= !Loading.DependsOnLoad; // at places far apart, and so is what lies there
    const uint64_t Behind = uint64_t(D) * Op.ElementBytes;
    const bool IsLeaf = Where == Space::Global && !mayKnow(Op, D) && !IsSymbol;
    const std::optional<StoredValue> Argument = Uniform ? argument(Op, D, Address[0] + Behind) : std::nullopt;
    uint32_t Unknown = 0;
    if (Argument) {
      Unknown = Argument->Unknown ? Mask : 0;
      forLanes(Mask, [&, V = Register(Argument->Bits)](unsigned L) { Out[L] = V; });
    } else if (Where == Space::Global && P.RunBounds[Op.FirstDest + D] != RunBound::None) {
      const uint32_t FromData = R.Unknown[Op.Address];
      forLanes(Mask, [&](unsigned L) {
        const uint64_t At = Address[L] + Behind;
        const bool IsOrdered = !IsLeaf && ordered(Op, L, At); // as the configuration says
        std::optional<uint64_t> Bound;
        const bool IsData = FromData >> L & 1;
        if (!IsOrdered) {
          // However far apart the host puts them: runs follow each other.
          const std::optional<KnownInteger> Known = IsLeaf || IsData ? std::nullopt : known(At);
          const bool IsInOrder = !Known || !Known->Below || P.RunBounds[Op.FirstDest + D] == RunBound::OwnCount;
          const bool IsExact = Known && !Known->Guessed && !Known->Below;
          if (IsExact)
            Bound = uint64_t(Known->Value);
          else if (IsInOrder)
            Bound = runBound(Op, D, At);
          MeanRuns |= Bound && !IsExact;
        }
        const StoredValue V = Bound ? StoredValue{*Bound, IsData} : read(Op, D, Data, Where, L, At);
        Out[L] = Register(V.Bits);
        Unknown |= uint32_t(V.Unknown) << L;
      });
    } else if (IsLeaf) {
      Unknown = Mask;
      if (IsPlain && !isReal(Op, D))
        forLanes(Mask, [&](unsigned L) { Out[L] = Register(randomBelow(seed(Address[L] + Behind, Seen), Data.Elements)); });
      else
        forLanes(Mask, [&](unsigned L) { Out[L] = Register(loaded(Op, D, Data, L, seed(Address[L] + Behind, Seen))); });
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
    uint64_t Next = Before;
    forLanes(Mask, [&, Data = data(Op, D)](unsigned L) {
      const uint64_t V = Counts ? Next++ : leaf(Op, Data, L, (Address[L] ^ window(Where)) + (Atomics << 20) + D);
      R.Values[To][L] = lowBits(V, Op.Bits);
    });
    R.Unknown[To] = Counts ? R.Unknown[To] & ~Mask : R.Unknown[To] | Mask;
  }
  if (Where == Space::Global)
    return; // what lies there is data anyway
  forLanes(Mask, [&, Data = data(Op, 0)](unsigned L) {
    write(Where, L, Address[L], Op.ElementBytes, {leaf(Op, Data, L, Address[L] + (Atomics << 20)), true});
  });
}

void WarpMemory::remember(uint32_t Mask, const Lanes &Address) {
  const Origin From = originOf(Address[unsigned(std::countr_zero(Mask))]);
  if (!From.Array)
    return;
  Elements &Last = Visited[From.Base];
  forLanes(Mask, [&](unsigned L) { Last.Address[L] = Address[L]; });
  Last.Mask |= Mask;
}

bool WarpMemory::staysInElements(uint32_t Mask, const Lanes &Address) const {
  const Origin From = originOf(Address[unsigned(std::countr_zero(Mask))]);
  if (!From.Array || !From.Array->RecordBytes)
    return false;
  const auto Last = Visited.find(From.Base);
  if (Last == Visited.end() || (Mask & ~Last->second.Mask))
    return false;
  auto element = [&](uint64_t At) -> std::optional<uint64_t> {
    const Origin Of = At >> RangeBits == From.Range ? From : originOf(At);
    const std::optional<uint64_t> Offset = Of.Array && Of.Base == From.Base ? sourceOffset(At, Of) : std::nullopt;
    return Offset ? std::optional(*Offset / From.Array->RecordBytes) : std::nullopt;
  };
  bool Stays = true;
  forLanes(Mask, [&](unsigned L) {
    if (!Stays)
      return;
    const std::optional<uint64_t> Here = element(Address[L]);
    Stays = Here && Here == element(Last->second.Address[L]);
  });
  return Stays;
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
  Lanes &Address = Out.Address;
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
  const bool Elsewhere = FromData && !staysInElements(Mask, Address);
  if (Where == Space::Global && !FromData)
    remember(Mask, Address);
  const ArrayPlace *Array = FromData && Facts.LocalData ? arrayBehind(Address[unsigned(std::countr_zero(Mask))]) : nullptr;
  Out.DependsOnLoad = Elsewhere && (!Facts.LocalData || isScattered(Mask, Address, Array && Array->Elements ? Array->Elements : Facts.Elements));
  if (Where == Space::Global && (FromData || !knowsNothing()))
    keepInside(Mask, Address);

  switch (Op.Op) {
  case Opcode::Ld:
  case Opcode::LdParam:
    load(Op, Out, R);
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
  if (Where == Space::Local) {
    // As the hardware interleaves it: the same offset of all lanes in a row.
    const uint64_t Base = window(Space::Local) | ((WarpId & 0xfffffffff) << 24);
    const uint64_t Bytes = uint64_t(Op.ElementBytes) * Op.Vector;
    for (unsigned L = 0; L < 32; ++L)
      Address[L] = Base + (Address[L] & 0x7ffff) * 32 + L * Bytes;
  }
  return Where == Space::Global || Where == Space::Shared || Where == Space::Local;
}

void WarpMemory::call(const Instruction &Call, uint32_t Mask) {
  for (const Operand &Result : Call.Dest) {
    const AddressMap::CallBlock Block = P.Addresses.callBlock(Result.Name);
    forLanes(Mask, [&](unsigned L) { Parameter.forget(L, Block.Offset, Block.Bytes); });
  }
}
