// Members of structs when all uses are known: which of them are one pointer for
// all objects, and which are several.
#pragma once

#include "analysis/program/ProgramFacts.h"

namespace restride {

/// Unites the members of all objects of structs that are not followed.
void mergeObjects(Flow &Graph);

/// Unites a member's nodes where no two objects use it for different arrays.
/// Returns the members that are several.
std::vector<NodeId> partedMembers(Flow &Graph);

/// No text names what the nodes of \p Class hold: they are members only.
bool isIdle(llvm::ArrayRef<NodeId> Class, const Flow &Graph);

/// Fills Program::Members with \p Parted, and gives their sites in candidates
/// an index in it. \p IndexOf has the candidates by class.
void addMembers(llvm::ArrayRef<NodeId> Parted, const std::map<NodeId, int> &IndexOf, const ProgramFacts &Facts, Program &Out);

} // namespace restride
