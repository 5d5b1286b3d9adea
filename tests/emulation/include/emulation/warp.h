// Barriers, votes and shuffles. A thread that calls one waits until all that
// take part have called it; threads that have ended take no part.
#pragma once
#include "emulation/launch.h"
#include <cstring>

void __syncthreads();
int __syncthreads_count(int predicate);
int __syncthreads_and(int predicate);
int __syncthreads_or(int predicate);

static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}
static inline void __nanosleep(unsigned) {}

namespace emulated {
// What the lanes of a warp bring to a collective, and what each gets.
struct Lanes {
  unsigned present; // bit per lane
  uint64_t value[32];
  unsigned argument[32];
  uint64_t result[32];

  template <class F> void each(F f) {
    for (int lane = 0; lane < 32; ++lane)
      if (present >> lane & 1)
        f(lane);
  }
};
typedef void (*Finish)(Lanes &);
uint64_t collective(unsigned mask, uint64_t value, unsigned argument, Finish finish);
unsigned laneOf();
// The lanes that arrive at this place of the source together.
unsigned activeMask(const char *file, int line);

template <class T> uint64_t bitsOf(T v) {
  static_assert(sizeof(T) <= 8, "a value of at most eight bytes");
  uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof(T));
  return bits;
}
template <class T> T valueOf(uint64_t bits) {
  T v;
  std::memcpy(&v, &bits, sizeof(T));
  return v;
}

inline void noResult(Lanes &) {}
inline void shuffled(Lanes &l) {
  l.each([&](int lane) {
    unsigned from = l.argument[lane];
    l.result[lane] = l.value[l.present >> from & 1 ? from : lane];
  });
}
template <class T> T shuffle(unsigned mask, T v, unsigned from) {
  return valueOf<T>(collective(mask, bitsOf(v), from, shuffled));
}
inline void balloted(Lanes &l) {
  uint64_t ballot = 0;
  l.each([&](int lane) { ballot |= (uint64_t)(l.value[lane] != 0) << lane; });
  l.each([&](int lane) { l.result[lane] = ballot | (uint64_t)l.present << 32; });
}
inline void matched(Lanes &l) {
  l.each([&](int lane) {
    l.result[lane] = 0;
    l.each([&](int other) { l.result[lane] |= (uint64_t)(l.value[other] == l.value[lane]) << other; });
  });
}
template <class T, class Op> void reduced(Lanes &l) {
  bool first = true;
  T all{};
  l.each([&](int lane) {
    all = first ? valueOf<T>(l.value[lane]) : Op()(all, valueOf<T>(l.value[lane]));
    first = false;
  });
  l.each([&](int lane) { l.result[lane] = bitsOf(all); });
}
template <class Op, class T> T reduce(unsigned mask, T v) {
  return valueOf<T>(collective(mask, bitsOf(v), 0, reduced<T, Op>));
}
} // namespace emulated

static inline unsigned __activemask(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  return emulated::activeMask(file, line);
}
static inline void __syncwarp(unsigned mask = ~0u) { emulated::collective(mask, 0, 0, emulated::noResult); }

template <class T> T __shfl_sync(unsigned mask, T v, int from, int width = 32) {
  return emulated::shuffle(mask, v, (emulated::laneOf() & ~(width - 1)) | (from & (width - 1)));
}
template <class T> T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  unsigned lane = emulated::laneOf();
  return emulated::shuffle(mask, v, (lane & (width - 1)) < delta ? lane : lane - delta);
}
template <class T> T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  unsigned lane = emulated::laneOf();
  return emulated::shuffle(mask, v, (lane & (width - 1)) + delta >= (unsigned)width ? lane : lane + delta);
}
template <class T> T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32) {
  unsigned lane = emulated::laneOf(), from = (lane ^ bits) & 31;
  return emulated::shuffle(mask, v, from > (lane | (width - 1)) ? lane : from);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return emulated::collective(mask, predicate != 0, 0, emulated::balloted);
}
static inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
static inline int __all_sync(unsigned mask, int predicate) {
  uint64_t both = emulated::collective(mask, predicate != 0, 0, emulated::balloted);
  return (unsigned)both == (unsigned)(both >> 32);
}
template <class T> unsigned __match_any_sync(unsigned mask, T v) {
  return emulated::collective(mask, emulated::bitsOf(v), 0, emulated::matched);
}
template <class T> unsigned __match_all_sync(unsigned mask, T v, int *same) {
  unsigned equal = __match_any_sync(mask, v);
  *same = __all_sync(mask, equal == __ballot_sync(mask, 1));
  return *same ? equal : 0;
}

namespace emulated {
#define EMULATED_OPERATION(name, expression)                                                                           \
  struct name {                                                                                                        \
    template <class T> T operator()(T a, T b) const { return expression; }                                             \
  };
EMULATED_OPERATION(Plus, a + b)
EMULATED_OPERATION(Less, b < a ? b : a)
EMULATED_OPERATION(Greater, a < b ? b : a)
EMULATED_OPERATION(BitAnd, a &b)
EMULATED_OPERATION(BitOr, a | b)
EMULATED_OPERATION(BitXor, a ^ b)
#undef EMULATED_OPERATION
} // namespace emulated
template <class T> T __reduce_add_sync(unsigned mask, T v) { return emulated::reduce<emulated::Plus>(mask, v); }
template <class T> T __reduce_min_sync(unsigned mask, T v) { return emulated::reduce<emulated::Less>(mask, v); }
template <class T> T __reduce_max_sync(unsigned mask, T v) { return emulated::reduce<emulated::Greater>(mask, v); }
template <class T> T __reduce_and_sync(unsigned mask, T v) { return emulated::reduce<emulated::BitAnd>(mask, v); }
template <class T> T __reduce_or_sync(unsigned mask, T v) { return emulated::reduce<emulated::BitOr>(mask, v); }
template <class T> T __reduce_xor_sync(unsigned mask, T v) { return emulated::reduce<emulated::BitXor>(mask, v); }
