// Numbers in order, each once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace restride::cost {

/// Mostly they are in order already, as the sectors of a request are.
inline void sortOnce(std::vector<uint64_t> &Numbers) {
  if (!std::is_sorted(Numbers.begin(), Numbers.end()))
    std::sort(Numbers.begin(), Numbers.end()); // llvm::sort calls a function for each comparison of numbers
  Numbers.erase(std::unique(Numbers.begin(), Numbers.end()), Numbers.end());
}

} // namespace restride::cost
