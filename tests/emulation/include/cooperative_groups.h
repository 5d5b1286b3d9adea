// Cooperative groups of one block and smaller.
#pragma once
#include "cuda_runtime.h"

namespace cooperative_groups {
class thread_block {
public:
  static void sync() { __syncthreads(); }
  static unsigned thread_rank() {
    return threadIdx.x + blockDim.x * (threadIdx.y + (size_t)blockDim.y * threadIdx.z);
  }
  static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned num_threads() { return size(); }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

// What thread ranks of a grid need; a barrier of the grid is not emulated.
class grid_group {
public:
  static unsigned long long block_rank() { return blockIdx.x + gridDim.x * (blockIdx.y + (size_t)gridDim.y * blockIdx.z); }
  static unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
  static unsigned long long num_blocks() { return (size_t)gridDim.x * gridDim.y * gridDim.z; }
  static unsigned long long size() { return num_blocks() * thread_block::size(); }
  static unsigned long long num_threads() { return size(); }
  static bool is_valid() { return false; }
  static void sync() { emulated::fail("a barrier of the whole grid is not emulated"); }
};
inline grid_group this_grid() { return {}; }

// Some lanes of a warp, by their bits.
class lane_group {
public:
  explicit lane_group(unsigned mask) : mask(mask) {}
  unsigned size() const { return __popc(mask); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const { return __popc(mask & ((1u << emulated::laneOf()) - 1)); }
  void sync() const { __syncwarp(mask); }
  int any(int predicate) const { return __any_sync(mask, predicate); }
  int all(int predicate) const { return __all_sync(mask, predicate); }
  unsigned ballot(int predicate) const { return packed(__ballot_sync(mask, predicate)); }
  template <class T> unsigned match_any(T v) const { return packed(__match_any_sync(mask, v)); }
  template <class T> T shfl(T v, unsigned rank) const { return from(v, rank % size()); }
  template <class T> T shfl_up(T v, unsigned delta) const {
    return from(v, thread_rank() < delta ? thread_rank() : thread_rank() - delta);
  }
  template <class T> T shfl_down(T v, unsigned delta) const {
    return from(v, thread_rank() + delta < size() ? thread_rank() + delta : thread_rank());
  }
  template <class T> T shfl_xor(T v, unsigned bits) const { return from(v, (thread_rank() ^ bits) % size()); }
  unsigned lanes() const { return mask; }

private:
  unsigned mask;

  template <class T> T from(T v, unsigned rank) const {
    unsigned rest = mask;
    for (; rank; --rank)
      rest &= rest - 1;
    return emulated::shuffle(mask, v, __builtin_ctz(rest));
  }
  // One bit per rank from one bit per lane.
  unsigned packed(unsigned lanes) const {
    unsigned bits = 0, rank = 0;
    for (unsigned rest = mask; rest; rest &= rest - 1, ++rank)
      bits |= (lanes >> __builtin_ctz(rest) & 1) << rank;
    return bits;
  }
};
using coalesced_group = lane_group;
inline coalesced_group coalesced_threads(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  return coalesced_group(emulated::activeMask(file, line));
}

template <unsigned Size, class Parent = void> class thread_block_tile : public lane_group {
  static_assert(Size <= 32 && (Size & (Size - 1)) == 0, "a tile of at most one warp");
  static unsigned lanesOfTile() {
    return (Size == 32 ? ~0u : (1u << Size % 32) - 1) << (emulated::laneOf() & ~(Size - 1));
  }

public:
  thread_block_tile() : lane_group(lanesOfTile()) {}
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  unsigned meta_group_rank() const { return thread_block::thread_rank() / Size; }
  unsigned meta_group_size() const { return (thread_block::size() + Size - 1) / Size; }
};
template <unsigned Size, class Parent> thread_block_tile<Size, Parent> tiled_partition(const Parent &) { return {}; }

template <class Group> void sync(const Group &group) { group.sync(); }
template <class T> using plus = emulated::Plus;
template <class T> using less = emulated::Less;
template <class T> using greater = emulated::Greater;
template <class T, class Op> T reduce(const lane_group &group, T v, Op) {
  return emulated::reduce<Op>(group.lanes(), v);
}
} // namespace cooperative_groups
