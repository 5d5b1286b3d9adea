// Names for a record that the program does not have yet.
#pragma once

#include "analysis/program/ParallelArrays.h"

namespace restride {

struct FoldNames {
  std::string Record;              ///< "Xyz"
  std::vector<std::string> Fields; ///< "x", "y", "z", as in ParallelGroup::Arrays
  std::vector<std::string> Types;  ///< of them, as kernels spell them: "real_t"
  /// Of the pointer that takes the place of a scope's pointers, by ArrayVariable::Scope.
  std::map<std::string, std::string> Handles;
};

/// Names after the arrays' own: kernel parameters x, y, z and variables d_x,
/// d_y, d_z give the record Xyz and the pointers xyz and d_xyz. None is in use.
FoldNames foldNames(const ArrayProgram &A, const ParallelGroup &G);

} // namespace restride
