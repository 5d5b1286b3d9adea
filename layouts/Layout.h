// What a layout is: where field f of element i lives, and how C++ spells it.
// One file per layout; Catalogue.cpp lists them.
//
// A layout changes the *handle*, the thing that takes the place of `T *`. It is
// either a pointer to another record (tiles, aligned twins) or a small struct
// of pointers that is passed by value (structure of arrays).
#pragma once

#include "layouts/Record.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace restride {

/// How every generated definition begins, so that a later run knows it.
inline constexpr const char *GeneratedMark = "// restride:";

/// One pointer of a handle that is a struct.
struct HandleArray {
  std::string Path;    ///< from the handle: ".x", ".v"
  std::string Type;    ///< of what it points to
  std::string Extents; ///< "[3]" where that is an array
  uint64_t Size = 0;   ///< bytes of an element; of one of the arrays
  /// Names of the fields, where its elements are records of several fields.
  std::vector<std::string> Fields = {};
  uint64_t Arrays = 1; ///< behind the pointer; several lie a pitch apart, which stands beside it

  std::string pointer() const { return Arrays > 1 ? Path + ".base" : Path; }
  std::string pitch() const { return Path + ".pitch"; }
};

class Layout {
public:
  virtual ~Layout() = default;

  /// As users and reports name it: "soa", "asta32".
  virtual llvm::StringRef name() const = 0;
  /// Why \p R cannot or need not take this layout, as the end of the sentence
  /// "soa refused: ..."; nothing where it can.
  virtual std::optional<std::string> objection(const Record &R) const { return std::nullopt; }

  // Placement, in bytes from the start of the one allocation for Count elements.

  virtual uint64_t offsetOf(const Record &R, const Leaf &L, uint64_t Element, uint64_t Count) const = 0;
  virtual uint64_t allocationBytes(const Record &R, uint64_t Count) const = 0;

  // Spelling. None of it matters for the original layout.

  /// What is appended to the record's name to name the handle type.
  virtual llvm::StringRef suffix() const = 0;
  /// The handle is a struct of pointers and not a pointer to `Handle`.
  virtual bool handleIsStruct() const { return false; }
  /// The handle is the array itself, a record of arrays: a class template over
  /// their extent, for arrays that are declared with one.
  virtual bool handleIsArray() const { return false; }
  /// An element of the handle is a class derived from the record, so that its
  /// members and copies of the record out of it are spelled as before.
  virtual bool elementIsRecord() const { return false; }
  /// Pattern of the leaf at \p Path (".pos.x"): $b handle, $i index, $p path to the leaf.
  virtual std::string accessPattern(llvm::StringRef Path) const = 0;
  /// The arrays that a struct handle points to, in the order of the one allocation.
  virtual std::vector<HandleArray> arrays(const Record &R, llvm::StringRef Handle) const { return {}; }
  /// The expression `handle + n` has a meaning, so a shifted handle can be passed on.
  virtual bool canShift() const { return true; }
  /// Definition of the handle type, with a comment line that says what it is.
  virtual std::string definition(const Record &R, llvm::StringRef Handle) const = 0;
  /// Elements of the allocation are rounded up to a multiple of this.
  virtual uint64_t countGranule() const { return 1; }
  /// The layout is the record itself with a larger alignment (bytes) where the
  /// record's size may change; 0 for the others.
  virtual uint64_t inPlaceAlignment() const { return 0; }
};

/// All layouts, the original ("aos") first.
llvm::ArrayRef<const Layout *> catalogue();
/// nullptr where there is none of that name.
const Layout *findLayout(llvm::StringRef Name);
/// Names that users give, also of layouts that depend on the array ("grouped").
std::vector<llvm::StringRef> layoutNames();

/// The form of \p L for arrays that are declared with their extent.
const Layout &declaredForm(const Layout &L);

/// \p Pattern with $b, $i and $p replaced.
std::string expandAccess(llvm::StringRef Pattern, llvm::StringRef Base, llvm::StringRef Index, llvm::StringRef Path);

} // namespace restride
