// Remembers what was stored to local, shared and parameter memory, by 32-bit
// words, so that spilled pointers and copied structs come back as they were.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace restride::ptx {

struct StoredValue {
  uint64_t Bits = 0;
  bool Unknown = false; ///< from loaded data
};

/// Memory of one lane, or of a whole block (one copy).
class WordStore {
public:
  /// \p Copies is the number of lanes that each have their own.
  explicit WordStore(unsigned Copies) : Copies(Copies) {}

  /// \p Bytes is 1, 2, 4 or 8. Unaligned values and those beyond MaxBytes are
  /// forgotten.
  void store(unsigned Copy, uint64_t Offset, unsigned Bytes, StoredValue V) {
    if (Offset % std::max(Bytes, 1u) || Offset >= MaxBytes || Bytes > 8)
      return;
    if (Bytes == 8) {
      store(Copy, Offset, 4, {V.Bits & 0xffffffff, V.Unknown});
      store(Copy, Offset + 4, 4, {V.Bits >> 32, V.Unknown});
      return;
    }
    const size_t At = size_t(Offset / 4) * Copies + Copy;
    if (At / PageWords >= Pages.size())
      Pages.resize(At / PageWords + 1);
    std::unique_ptr<Page> &In = Pages[At / PageWords];
    if (!In)
      In = std::make_unique<Page>();
    const unsigned Shift = unsigned(Offset % 4) * 8;
    const uint32_t Mask = uint32_t((uint64_t(1) << (Bytes * 8)) - 1) << Shift;
    Word &W = (*In)[At % PageWords];
    W.Value = (W.Value & ~Mask) | (uint32_t(V.Bits << Shift) & Mask);
    W.Unknown = V.Unknown;
    W.Valid = true;
  }

  /// None: nothing was stored there.
  std::optional<StoredValue> load(unsigned Copy, uint64_t Offset, unsigned Bytes) const {
    if (Offset % std::max(Bytes, 1u) || Offset >= MaxBytes || Bytes > 8)
      return std::nullopt;
    if (Bytes == 8) {
      std::optional<StoredValue> Low = load(Copy, Offset, 4), High = load(Copy, Offset + 4, 4);
      if (!Low || !High)
        return std::nullopt;
      return StoredValue{Low->Bits | High->Bits << 32, Low->Unknown || High->Unknown};
    }
    const Word *W = find(size_t(Offset / 4) * Copies + Copy);
    if (!W || !W->Valid)
      return std::nullopt;
    const uint64_t Value = W->Value >> (unsigned(Offset % 4) * 8);
    return StoredValue{Value & ((uint64_t(1) << (Bytes * 8)) - 1), W->Unknown};
  }

  void forget(unsigned Copy, uint64_t Offset, uint64_t Bytes) {
    for (uint64_t At = Offset / 4; At < (std::min(Offset + Bytes, MaxBytes) + 3) / 4; ++At)
      if (Word *W = find(size_t(At) * Copies + Copy))
        W->Valid = false;
  }

private:
  static constexpr uint64_t MaxBytes = 1 << 18;
  struct Word {
    uint32_t Value = 0;
    bool Valid = false, Unknown = false;
  };
  static constexpr size_t PageWords = 128;
  using Page = std::array<Word, PageWords>;

  /// Null where nothing was stored near by.
  Word *find(size_t At) const {
    const size_t P = At / PageWords;
    return P < Pages.size() && Pages[P] ? &(*Pages[P])[At % PageWords] : nullptr;
  }

  unsigned Copies;
  std::vector<std::unique_ptr<Page>> Pages; ///< null: nothing stored; clearing all of a large array takes longer than a warp
};

} // namespace restride::ptx
