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
  bool touch(uint64_t Sector) { return Lines && set(line(Sector).Sectors, Sector); }

  /// Writes a sector and keeps it. True: it was written before, and did not leave since.
  bool write(uint64_t Sector) {
    if (!Lines)
      return false;
    Slot &S = line(Sector);
    set(S.Sectors, Sector);
    return set(S.Dirty, Sector);
  }

private:
  struct Slot {
    uint64_t Line = 0;
    uint32_t Time = 0;
    uint32_t Sectors = 0; ///< bit i: sector i is there
    uint32_t Dirty = 0;   ///< bit i: it was written
  };
  /// The line of \p Sector, now the newest.
  Slot &line(uint64_t Sector) {
    const uint64_t Line = Sector >> LineShift;
    const size_t At = find(Line);
    Slot &S = Table[At] ? Slots[Table[At] - 1] : replace(Line, At);
    S.Time = ++Now;
    return S;
  }
  /// Sets the bit of \p Sector. True: it was set.
  bool set(uint32_t &Bits, uint64_t Sector) const {
    const uint32_t Bit = 1u << (Sector & ((1u << LineShift) - 1));
    const bool Was = Bits & Bit;
    Bits |= Bit;
    return Was;
  }
  /// A slot for \p Line, which is not there: its place \p At in the table is empty.
  Slot &replace(uint64_t Line, size_t At);
  size_t home(uint64_t Line) const { return (Line * 0x9E3779B97F4A7C15ull >> 20) & Mask; }
  /// Where \p Line stands in the table, or the empty place where it would.
  size_t find(uint64_t Line) const {
    size_t At = home(Line);
    while (Table[At] && Slots[Table[At] - 1].Line != Line)
      At = (At + 1) & Mask;
    return At;
  }
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
