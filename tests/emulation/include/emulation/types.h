// The language's own words and types: qualifiers, vector types, dim3.
//
// A __shared__ variable is static because blocks run one after another.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define CUDART_CB
#define CUDARTAPI
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000

// Alignments are the toolkit's: a whole vector, 16 bytes at most.
#define EMULATED_ALIGNED(bytes) __attribute__((aligned((bytes) < 16 ? (bytes) : 16)))
#define EMULATED_VECTOR(T, name)                                                                                       \
  struct name##1 {                                                                                                     \
    T x;                                                                                                               \
  };                                                                                                                   \
  struct EMULATED_ALIGNED(2 * sizeof(T)) name##2 {                                                                     \
    T x, y;                                                                                                            \
  };                                                                                                                   \
  struct name##3 {                                                                                                     \
    T x, y, z;                                                                                                         \
  };                                                                                                                   \
  struct EMULATED_ALIGNED(4 * sizeof(T)) name##4 {                                                                     \
    T x, y, z, w;                                                                                                      \
  };                                                                                                                   \
  static inline name##1 make_##name##1(T x) { return {x}; }                                                            \
  static inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                                    \
  static inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                                            \
  static inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

EMULATED_VECTOR(signed char, char)
EMULATED_VECTOR(unsigned char, uchar)
EMULATED_VECTOR(short, short)
EMULATED_VECTOR(unsigned short, ushort)
EMULATED_VECTOR(int, int)
EMULATED_VECTOR(unsigned, uint)
EMULATED_VECTOR(long, long)
EMULATED_VECTOR(unsigned long, ulong)
EMULATED_VECTOR(long long, longlong)
EMULATED_VECTOR(unsigned long long, ulonglong)
EMULATED_VECTOR(float, float)
EMULATED_VECTOR(double, double)
#undef EMULATED_VECTOR

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

namespace emulated {
// An argument of this type follows the other arguments' T.
template <class T> struct Same {
  using type = T;
};
template <class T> using SameAs = typename Same<T>::type;
} // namespace emulated
