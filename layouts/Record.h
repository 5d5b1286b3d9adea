// What one element of an array is made of: the fields of a record, flattened
// no further than a layout needs. Plain values, so that no AST has to be alive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace restride {

/// One member of a record. A nested record that layouts may split has
/// `Members`; everything else is a leaf that layouts move as one piece per
/// array element.
struct Field {
  std::string Name;
  /// C++ spelling of the element type ("float", "geo::Vec3"), qualified so that
  /// it can be named right after the record. Arrays: the type of one element.
  std::string Type;
  uint64_t Offset = 0; ///< bytes from the start of the enclosing record
  uint64_t Size = 0;   ///< bytes, all array elements together
  uint64_t Align = 1;  ///< bytes
  /// Extents of a member array, outermost first; empty for anything else.
  std::vector<uint64_t> Extents;
  /// Members of a nested record; empty for a leaf.
  std::vector<Field> Members;
  /// A member array that must stay contiguous for one element, because the
  /// program uses it as a pointer or because it is too long to split.
  bool KeepWhole = false;

  uint64_t arrayElements() const {
    uint64_t N = 1;
    for (uint64_t E : Extents)
      N *= E;
    return N;
  }
  bool operator==(const Field &) const = default;
};

struct Record {
  std::string Name; ///< as declarations after the record can spell it
  uint64_t Size = 0;  ///< bytes
  uint64_t Align = 1; ///< bytes
  std::vector<Field> Fields;
  /// `P r;` compiles everywhere and runs no code.
  bool TrivialDefault = true;
  /// Some field is private or protected, so only a friend can take it apart.
  bool Private = false;
  bool operator==(const Record &) const = default;
};

/// One scalar (or vector-loadable or kept-whole) piece of an element, in
/// declaration order. `Path` spells it from the element: ".pos.x", ".v[2]".
struct Leaf {
  std::string Path;
  std::string Type;
  std::string Extents; ///< "[3]" of a member array that stays whole; else empty
  uint64_t Offset = 0; ///< bytes from the start of the record
  uint64_t Size = 0;   ///< bytes
  uint64_t Align = 1;  ///< bytes
  bool operator==(const Leaf &) const = default;
};

/// How element \p I of the member array \p F is subscripted: "[1][0]"; empty where F is none.
std::string subscripts(const Field &F, uint64_t I);

/// All leaves of \p R. Split member arrays give one leaf per array element.
std::vector<Leaf> leaves(const Record &R);

} // namespace restride
