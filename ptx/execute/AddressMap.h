// Where things lie in the synthetic address space that execution uses. Global
// data gets one 1<<40 range per pointer, so that different arrays never share a
// line. Shared, local and parameter memory are small offsets, and become generic
// addresses by a window in the top bits, as in hardware.
#pragma once

#include "ptx/execute/KnownObject.h"
#include "ptx/parse/Module.h"

#include "llvm/ADT/StringMap.h"

namespace restride::ptx {

constexpr unsigned RangeBits = 40; ///< bytes of one pointer's range, log2
constexpr unsigned WindowShift = 60;
constexpr uint64_t OffsetMask = (uint64_t(1) << WindowShift) - 1;

/// Top bits of a generic address into \p S.
constexpr uint64_t window(Space S) {
  switch (S) {
  case Space::Shared:
    return uint64_t(2) << WindowShift;
  case Space::Local:
    return uint64_t(3) << WindowShift;
  case Space::Param:
    return uint64_t(4) << WindowShift;
  case Space::Const:
    return uint64_t(5) << WindowShift;
  default:
    return 0;
  }
}

/// Where a generic address points.
constexpr Space spaceOf(uint64_t Address) {
  switch (Address >> WindowShift) {
  case 2:
    return Space::Shared;
  case 3:
    return Space::Local;
  case 4:
    return Space::Param;
  case 5:
    return Space::Const;
  default:
    return Space::Global;
  }
}

/// A parameter of the function in its parameter block.
struct ParameterSlot {
  uint64_t Offset = 0; ///< bytes
  uint64_t Bytes = 0;
  unsigned Position = 0;  ///< source parameter position, 0-based
  unsigned FirstWord = 0; ///< numbers 8-byte words over all parameters
  Type Ty;
  bool IsPointer = false;
};

/// A pointer that the function is given.
struct PointerPlace {
  unsigned Position = 0; ///< of its parameter in the source
  unsigned Word = 0;     ///< of it in the parameter, in 8 bytes
};

/// A variable of the module.
struct SymbolPlace {
  std::string Name;
  uint64_t Bytes = 0; ///< 0: not known
  KnownObject Initial; ///< what it begins as
  uint64_t Seed = 0;   ///< of its name: functions mention variables in any order
};

/// Addresses of a function's names.
class AddressMap {
public:
  explicit AddressMap(const Function &F);
  /// Address of \p Name as `mov` gives it: an offset for shared, local and
  /// parameter memory, a generic address otherwise.
  uint64_t address(llvm::StringRef Name);
  /// The parameter that covers byte \p Offset; null: a call's own block.
  const ParameterSlot *parameterAt(uint64_t Offset) const;
  /// The pointer whose range \p Address lies in; null: none's.
  const PointerPlace *pointerBehind(uint64_t Address) const {
    const uint64_t Range = Address >> RangeBits; // 0 is none's
    return Range - 1 < Pointers.size() ? &Pointers[Range - 1] : nullptr;
  }
  /// Variables of the module, in the order of their ranges.
  llvm::ArrayRef<SymbolPlace> symbols() const { return Symbols; }
  /// Index in symbols() of the one whose range \p Address lies in; none: none's.
  static std::optional<size_t> symbolBehind(uint64_t Address) {
    const uint64_t Range = (Address & OffsetMask) >> RangeBits; // 0 is none's
    return Address >> WindowShift == 1 && Range ? std::optional(size_t(Range - 1)) : std::nullopt;
  }
  /// A block that a call passes or returns.
  struct CallBlock {
    uint64_t Offset = 0, Bytes = 0;
  };
  /// No bytes: \p Name is not one.
  CallBlock callBlock(llvm::StringRef Name) const { return Blocks.lookup(Name); }

private:
  llvm::StringMap<uint64_t> AddressOf;
  llvm::StringMap<CallBlock> Blocks;
  std::vector<ParameterSlot> Parameters;
  std::vector<PointerPlace> Pointers; ///< by range, from 1 on
  uint64_t ParameterEnd = 0;
  std::vector<SymbolPlace> Symbols; ///< by range, from 1 on
  llvm::StringMap<Variable> Listed; ///< variables of the module that the function lists
};

} // namespace restride::ptx
