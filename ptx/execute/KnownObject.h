// Objects that the host fills before kernels run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace restride::ptx {

/// A struct that is passed by value, or a variable in constant memory.
struct KnownObject {
  std::vector<std::optional<uint8_t>> Bytes; ///< as in the source; empty: nothing is known
  /// Bytes from here on keep their distance from the object's end, whatever
  /// layouts put before; those before keep their place.
  uint64_t Tail = ~uint64_t(0);

  /// The \p Count bytes, at most 8, at \p Offset of an object that is \p Size bytes long now.
  std::optional<uint64_t> word(uint64_t Offset, unsigned Count, uint64_t Size) const;
};

} // namespace restride::ptx
