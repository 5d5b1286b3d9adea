// The part of Thrust that the programs here use, for their emulation on the CPU.
#pragma once
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace thrust {
struct Device {};
inline constexpr Device device;

template <class Iterator, class T> T reduce(Device, Iterator first, Iterator last, T init) {
  for (; first != last; ++first)
    init = init + *first;
  return init;
}

template <class Iterator, class T> auto count(Device, Iterator first, Iterator last, const T &value) { return std::count(first, last, value); }

template <class Keys, class Values> void sort_by_key(Device, Keys first, Keys last, Values values) {
  using Pair = std::pair<std::decay_t<decltype(*first)>, std::decay_t<decltype(*values)>>;
  std::vector<Pair> pairs;
  for (auto i = first; i != last; ++i)
    pairs.emplace_back(*i, values[i - first]);
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair &a, const Pair &b) { return a.first < b.first; });
  for (size_t i = 0; i < pairs.size(); ++i)
    std::tie(first[i], values[i]) = pairs[i];
}
} // namespace thrust
