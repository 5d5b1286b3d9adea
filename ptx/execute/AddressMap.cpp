#include "ptx/execute/AddressMap.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

using namespace restride::ptx;

/// Offset of \p Bytes after \p End, which moves on.
static uint64_t place(uint64_t &End, uint64_t Bytes, uint64_t Align) {
  // Sizes come from the text: keep hostile ones from wrapping around.
  constexpr uint64_t Most = uint64_t(1) << 30;
  End = llvm::alignTo(End, std::clamp<uint64_t>(Align, 1, 1 << 12));
  uint64_t At = End;
  End += std::min(Bytes, Most);
  return At & OffsetMask;
}

AddressMap::AddressMap(const Function &F) {
  uint64_t SharedEnd = 0, LocalEnd = 0;
  unsigned Words = 0;
  for (const Parameter &P : F.Params) {
    ParameterSlot Slot;
    Slot.Bytes = P.Bytes;
    Slot.Position = unsigned(Parameters.size());
    Slot.FirstWord = Words;
    Slot.Ty = P.Ty;
    Slot.IsPointer = P.IsPointer;
    Slot.Offset = place(ParameterEnd, P.Bytes, std::max<uint64_t>(P.Align, 8));
    Words += unsigned(std::min<uint64_t>((P.Bytes + 7) / 8, 1 << 12));
    for (unsigned Word = 0; Word < Words - Slot.FirstWord; ++Word)
      Pointers.push_back({Slot.Position, Word});
    AddressOf[P.Name] = Slot.Offset;
    Parameters.push_back(Slot);
  }
  ParameterEnd = llvm::alignTo(ParameterEnd, 16);
  uint64_t BlockEnd = ParameterEnd;
  auto PlaceBlock = [&](const std::string &Name, uint64_t Bytes, uint64_t Align) {
    const uint64_t At = place(BlockEnd, Bytes, std::max<uint64_t>(Align, 8));
    AddressOf[Name] = At;
    Blocks[Name] = {At, Bytes};
  };
  for (const Parameter &R : F.Results)
    PlaceBlock(R.Name, R.Bytes, R.Align);
  // Open shared arrays all start after those of known size.
  for (const Variable &V : F.Variables) {
    if (V.Mem == Space::Shared && V.Bytes)
      AddressOf[V.Name] = place(SharedEnd, V.Bytes, V.Align);
    if (V.Mem == Space::Local)
      AddressOf[V.Name] = place(LocalEnd, V.Bytes, V.Align);
    if (V.Mem == Space::Const || V.Mem == Space::Global)
      Listed[V.Name] = V;
    if (V.Mem == Space::Param)
      PlaceBlock(V.Name, V.Bytes, V.Align);
  }
  for (const Variable &V : F.Variables)
    if (V.Mem == Space::Shared && !V.Bytes)
      AddressOf[V.Name] = llvm::alignTo(SharedEnd, 16);
}

uint64_t AddressMap::address(llvm::StringRef Name) {
  auto [At, New] = AddressOf.try_emplace(Name, 0);
  if (New) { // a variable of the module, or a function
    const Variable V = Listed.lookup(Name);
    SymbolPlace &S = Symbols.emplace_back(SymbolPlace{Name.str(), V.Bytes, {{V.Initial.begin(), V.Initial.end()}}});
    S.Seed = llvm::xxh3_64bits(Name);
    if (!V.Initial.empty())
      S.Initial.Bytes.resize(V.Bytes, 0);
    At->second = (uint64_t(1) << WindowShift) | ((Symbols.size() << RangeBits) & OffsetMask);
  }
  return At->second;
}

const ParameterSlot *AddressMap::parameterAt(uint64_t Offset) const {
  if (Offset >= ParameterEnd)
    return nullptr;
  for (const ParameterSlot &P : Parameters)
    if (Offset >= P.Offset && Offset - P.Offset < P.Bytes)
      return &P;
  return nullptr;
}
