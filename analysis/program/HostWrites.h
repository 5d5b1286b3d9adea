// What the host writes into its arrays, and which of them it copies to the GPU.
// It guides the score and decides nothing about what may be rewritten: what is not
// plain to see is left out.
#pragma once

#include "analysis/program/HostPlaces.h"
#include "analysis/program/Reached.h"

namespace restride {

/// `array[i].field = value`, or of `array.push_back(value)`.
struct HostWrite {
  HostPlace Place;
  const clang::Expr *Value = nullptr;
  const clang::Stmt *At = nullptr;     ///< what the loops stand around
  const clang::Stmt *Append = nullptr; ///< the push_back that stores it: at the end, so Place has no index
  const clang::CallExpr *Made = nullptr; ///< of the function that Value stands in, or which makes the object that it is
  bool Sometimes = false;                ///< that function does so under a condition
};

/// A copy to the GPU: of an array, or into one member of each element.
struct HostCopy {
  const clang::ValueDecl *From = nullptr;
  const clang::FieldDecl *Member = nullptr; ///< null: whole elements
  auto operator<=>(const HostCopy &) const = default;
};

/// A call that asks for memory.
struct HostAllocation {
  const clang::Expr *Bytes = nullptr;
  CallPath Calls; ///< by which its function was called
};

struct HostWrites {
  using ByArray = std::map<const clang::ValueDecl *, std::vector<HostWrite>>;
  ByArray Writes; ///< of integers, and of objects as a whole
  ByArray Reals;  ///< of floating-point numbers
  /// Arrays that something else changes as well: a function that is not seen, `+=`.
  std::set<const clang::ValueDecl *> Unclear;
  std::set<const clang::ValueDecl *> Shuffled; ///< arrays whose entries are exchanged
  /// By array on the GPU: what is copied there.
  std::map<const clang::ValueDecl *, std::set<HostCopy>> Copied;
  std::map<const clang::ValueDecl *, std::vector<HostAllocation>> Allocated; ///< by array on the GPU
  /// Members that device code writes, and parameters of kernels through which it does.
  std::set<const clang::ValueDecl *> DeviceWrites;
  std::set<const clang::RecordDecl *> DeviceRecords; ///< whole ones
  /// Floating-point members of which device code makes integers: cells of places.
  std::set<const clang::FieldDecl *> Placing;
};

/// What \p Which, Writes or Reals, has of \p Array, by byte of its elements, also by way of objects that are stored as a whole.
std::map<int64_t, std::vector<const HostWrite *>> writesByOffset(const clang::ValueDecl *Array, const HostWrites &Host, HostWrites::ByArray HostWrites::*Which);

HostWrites hostWrites(llvm::ArrayRef<clang::Decl *> Scope, const UnitFacts &Facts, clang::ASTContext &Context);

} // namespace restride
