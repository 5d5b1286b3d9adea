// Fields in groups: each group is a small record, and the array becomes one
// array for each group. Fields that are used together are loaded together, and
// others stay out of the way.
//
//   struct P { float x, y, z, w; int id; };          p[i].x         p[i].id
//
//   struct __align__(16) PGroups_g0 { float x, y, z, w; };
//   struct PGroups { PGroups_g0 *g0; int *id; };     p.g0[i].x      p.id[i]
#pragma once

#include "layouts/Layout.h"

namespace restride {

/// Fields that lie together.
struct FieldGroup {
  std::vector<std::string> Names; ///< in the record's order
  /// They are a record of their own; otherwise it is one number.
  bool IsRecord = true;
  auto operator<=>(const FieldGroup &) const = default;
};

class Grouped : public Layout {
public:
  explicit Grouped(std::vector<FieldGroup> Groups) : Groups(std::move(Groups)) {}

  llvm::StringRef name() const override { return "grouped"; }
  std::optional<std::string> objection(const Record &R) const override;
  uint64_t offsetOf(const Record &R, const Leaf &L, uint64_t Element, uint64_t Count) const override;
  uint64_t allocationBytes(const Record &R, uint64_t Count) const override;
  llvm::StringRef suffix() const override { return "Groups"; }
  bool handleIsStruct() const override { return true; }
  std::string accessPattern(llvm::StringRef Path) const override;
  std::vector<HandleArray> arrays(const Record &R, llvm::StringRef Handle) const override;
  std::string definition(const Record &R, llvm::StringRef Handle) const override;
  /// Keeps every group's array aligned to 256 bytes, as cudaMalloc's result is.
  uint64_t countGranule() const override { return 256; }
  const std::vector<FieldGroup> &groups() const { return Groups; }

private:
  std::vector<FieldGroup> Groups;
};

/// The layout with these groups of the fields of \p R, which lives as long as the process.
const Layout &groupedLayout(const Record &R, const std::vector<std::vector<std::string>> &Groups);

} // namespace restride
