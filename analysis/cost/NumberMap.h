// Numbers that were seen, with a small value each, which can be forgotten all at once
// and at no cost: what the simulation of an SM asks of each turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace restride::cost {

class NumberMap {
public:
  NumberMap() : Entries(256) {}

  /// The value of \p Number; null: it is not there.
  const uint8_t *find(uint64_t Number) const {
    if (!Count)
      return nullptr;
    const Entry &E = Entries[place(Number)];
    return E.Round == Round ? &E.Value : nullptr;
  }
  bool contains(uint64_t Number) const { return find(Number); }

  /// Sets the value of \p Number. True: it was not there.
  bool insert(uint64_t Number, uint8_t Value = 0) {
    Entry &E = Entries[place(Number)];
    const bool IsNew = E.Round != Round;
    E = {Number, Round, Value};
    if (IsNew && ++Count * 2 > Entries.size())
      grow();
    return IsNew;
  }

  size_t size() const { return Count; }

  void clear() {
    ++Round;
    Count = 0;
  }

private:
  struct Entry {
    uint64_t Number = 0;
    uint32_t Round = 0; ///< in which it was inserted: others are empty
    uint8_t Value = 0;
  };

  /// Open addressing with linear probing; nothing is ever removed by itself.
  size_t place(uint64_t Number) const {
    const size_t Mask = Entries.size() - 1;
    size_t At = (Number * 0x9E3779B97F4A7C15ull >> 20) & Mask;
    while (Entries[At].Round == Round && Entries[At].Number != Number)
      At = (At + 1) & Mask;
    return At;
  }

  void grow() {
    std::vector<Entry> Old = std::exchange(Entries, std::vector<Entry>(Entries.size() * 4));
    for (const Entry &E : Old)
      if (E.Round == Round)
        Entries[place(E.Number)] = E;
  }

  std::vector<Entry> Entries;
  uint32_t Round = 1;
  size_t Count = 0;
};

} // namespace restride::cost
