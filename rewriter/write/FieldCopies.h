// Copies between one field of an array of records and an array of its own, as
// code that stands beside the record.
#pragma once

#include "analysis/program/Candidate.h"

#include <set>

namespace restride {

/// Name of the function for a copy or fill: "Xyz_memcpy".
std::string fieldCopyName(llvm::StringRef Handle, HostCall::Api What);

/// Which of the functions a program needs.
struct FieldCopyNeeds {
  std::set<HostCall::Api> In, Out, Fill;
  bool At = false; ///< some start at an element other than 0 of an array of tiles
  bool any() const { return !In.empty() || !Out.empty() || !Fill.empty(); }
  void add(HostCall::Api What, unsigned Argument);
};

/// The functions for elements of \p Handle: records, or tiles of \p Tile records.
std::string fieldCopyCode(llvm::StringRef Handle, uint64_t Tile, const FieldCopyNeeds &Needs);

} // namespace restride
