// A cache of lines with sectors, whole-cache associative, that replaces the
// oldest of a few lines drawn at random: close to what hardware with a hashed
// index does, without the thrashing cliff of exact LRU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace restride::cost {

class SectorCache {
public:
  /// \p Lines lines of \p SectorsPerLine sectors, a power of two; no lines: nothing ever hits.
  SectorCache(uint64_t Lines, unsigned SectorsPerLine);

  /// Reads or writes a sector and keeps it. True: it was there.
  bool touch(uint64_t Sector);

private:
  struct Slot {
    uint64_t Line = 0;
    uint32_t Time = 0;
    uint32_t Sectors = 0; ///< bit i: sector i is there
  };
  Slot &slotFor(uint64_t Line);
  size_t home(uint64_t Line) const { return (Line * 0x9E3779B97F4A7C15ull >> 20) & Mask; }
  size_t find(uint64_t Line) const;
  void erase(size_t At);

  uint64_t Lines;
  unsigned LineShift; ///< log2 of the sectors in a line
  std::vector<Slot> Slots;
  /// Open addressing with linear probing: slot number + 1, 0 where empty.
  std::vector<uint32_t> Table;
  size_t Mask = 0;
  uint32_t Now = 0;
  uint64_t Random = 12345;
};

} // namespace restride::cost
