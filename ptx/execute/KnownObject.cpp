#include "ptx/execute/KnownObject.h"

using namespace restride::ptx;

std::optional<uint64_t> KnownObject::word(uint64_t Offset, unsigned Count, uint64_t Size) const {
  if (Count > 8 || Offset > Size || Count > Size - Offset)
    return std::nullopt;
  uint64_t At = Offset;
  if (Offset >= Tail) {
    if (Tail > Bytes.size() || Size - Offset > Bytes.size() - Tail)
      return std::nullopt;
    At = Bytes.size() - (Size - Offset);
  }
  uint64_t Word = 0;
  for (unsigned I = 0; I < Count; ++I) {
    if (At + I >= Bytes.size() || !Bytes[At + I])
      return std::nullopt;
    Word |= uint64_t(*Bytes[At + I]) << (8 * I);
  }
  return Word;
}
