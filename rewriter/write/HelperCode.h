// The code that is generated beside a record: the handle type of a layout and
// the functions that allocate, copy, load and store through it. Only what a
// program uses is written.
#pragma once

#include "analysis/program/Candidate.h"
#include "layouts/Layout.h"
#include "rewriter/write/FieldCopies.h"

#include <map>
#include <set>

namespace restride {

/// A member function for an element, or for the nested record that the path leads to.
struct MethodUse {
  std::vector<std::string> Path;
  int Method = 0; ///< index in Candidate::Methods
  auto operator<=>(const MethodUse &) const = default;
};

/// What a program needs of a layout's helper code.
struct HelperNeeds {
  std::map<std::string, FieldCopyNeeds> Fields; ///< copies of single fields, by the type that has them
  std::set<HostCall::Api> In, Out, Within; ///< copies into, out of and inside the layout
  bool InAt = false, OutAt = false, WithinAt = false; ///< some start at an element other than 0
  std::set<HostCall::Api> Fill, Allocate, Release;
  bool FillAt = false, HostFill = false; ///< HostFill: by the host, of managed memory
  std::set<HostCall::Api> Hints; ///< about where managed memory lies
  bool HintAt = false;
  std::string Owner; ///< the type of a std::unique_ptr that owns the array
  bool From = false; ///< memory that the program's functions give out becomes the layout
  std::set<HostCall::Api> Symbol; ///< copies of declared arrays
  bool ArrayBytes = false; ///< sizeof a declared array
  bool Load = false, Store = false, Shift = false;
  bool ForHost = false; ///< plain C++ reads the file too, and only needs the type
  /// Nested records stored as a whole: path of members.
  std::set<std::vector<std::string>> PartStores;
  std::set<MethodUse> Methods;
  std::vector<std::string> MethodCode; ///< the functions for them, see methodCode()
};

/// "ParticleSoA", or "particle_soa" beside lower-case names; different from
/// every name in \p Taken.
std::string handleName(const Record &R, const Layout &L, const std::vector<std::string> &Taken);

/// A name that helper code gives to its own variables: no record in it can be called so.
bool isHelperWord(llvm::StringRef Name);

/// Name of the helper for a runtime call: "ParticleSoA_memcpy".
std::string helperName(llvm::StringRef Handle, HostCall::Api What);

/// The whole block, with an empty line before and after it.
std::string helperCode(const Record &R, const Layout &L, llvm::StringRef Handle, const HelperNeeds &Needs);

} // namespace restride
