// What a run read, so that the next one can tell whether anything changed.
#pragma once

#include <set>
#include <string>

namespace restride {

struct RunInputs {
  std::set<std::string> Files;   ///< absolute; one that does not exist must stay so
  std::set<std::string> Folders; ///< whose list of files matters, but not those below
  std::set<std::string> Trees;   ///< whose sources matter, at any depth
};

} // namespace restride
