// Functions that device code has besides the C library's: intrinsics by the
// operation they stand for, at the same or a higher precision.
//
// Templates give way to the C library's function where it has one; extern "C"
// functions are those that its header already declares under these names.
#pragma once
#include "emulation/types.h"
#include <cmath>
#include <cstring>
#include <math.h>

template <class A, class B>
constexpr std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>, std::common_type_t<A, B>> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>)
    return std::fmin((T)a, (T)b);
  else
    return (T)b < (T)a ? (T)b : (T)a;
}
template <class A, class B>
constexpr std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>, std::common_type_t<A, B>> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>)
    return std::fmax((T)a, (T)b);
  else
    return (T)a < (T)b ? (T)b : (T)a;
}

// A function of one argument, for double and, under a second name, for float.
#define EMULATED_FUNCTION(name, expression)                                                                            \
  template <class T> std::enable_if_t<std::is_arithmetic_v<T>, double> name(T v) {                                     \
    double x = v;                                                                                                      \
    return expression;                                                                                                 \
  }                                                                                                                    \
  template <class T> float name##f(T v) {                                                                              \
    float x = v;                                                                                                       \
    return expression;                                                                                                 \
  }
EMULATED_FUNCTION(rsqrt, 1 / std::sqrt(x))
EMULATED_FUNCTION(rcbrt, 1 / std::cbrt(x))
EMULATED_FUNCTION(sinpi, std::sin(x *(decltype(x))M_PI))
EMULATED_FUNCTION(cospi, std::cos(x *(decltype(x))M_PI))
EMULATED_FUNCTION(normcdf, std::erfc(x *(decltype(x)) - M_SQRT1_2) / 2)
#undef EMULATED_FUNCTION
static inline float rsqrt(float x) { return rsqrtf(x); }

template <class T> float fdividef(T a, T b) { return a / b; }
static inline float norm3df(float a, float b, float c) { return std::sqrt(a * a + b * b + c * c); }
static inline double norm3d(double a, double b, double c) { return std::sqrt(a * a + b * b + c * c); }
static inline float rnorm3df(float a, float b, float c) { return 1 / norm3df(a, b, c); }
static inline double rnorm3d(double a, double b, double c) { return 1 / norm3d(a, b, c); }
static inline void sincospif(float x, float *s, float *c) { *s = sinpif(x), *c = cospif(x); }
static inline void sincospi(double x, double *s, double *c) { *s = sinpi(x), *c = cospi(x); }
static inline void sincos(float x, float *s, float *c) { *s = std::sin(x), *c = std::cos(x); }

extern "C" {
inline float __expf(float x) noexcept { return std::exp(x); }
inline float __exp10f(float x) noexcept { return std::pow(10.0f, x); }
inline float __logf(float x) noexcept { return std::log(x); }
inline float __log2f(float x) noexcept { return std::log2(x); }
inline float __log10f(float x) noexcept { return std::log10(x); }
inline float __powf(float x, float y) noexcept { return std::pow(x, y); }
inline float __sinf(float x) noexcept { return std::sin(x); }
inline float __cosf(float x) noexcept { return std::cos(x); }
inline float __tanf(float x) noexcept { return std::tan(x); }
inline void __sincosf(float x, float *s, float *c) noexcept { *s = std::sin(x), *c = std::cos(x); }
}
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }

#define EMULATED_ROUNDED(prefix, T, mode)                                                                              \
  static inline T __##prefix##add_##mode(T a, T b) { return a + b; }                                                   \
  static inline T __##prefix##sub_##mode(T a, T b) { return a - b; }                                                   \
  static inline T __##prefix##mul_##mode(T a, T b) { return a * b; }                                                   \
  static inline T __##prefix##div_##mode(T a, T b) { return a / b; }                                                   \
  static inline T __##prefix##rcp_##mode(T a) { return 1 / a; }                                                        \
  static inline T __##prefix##sqrt_##mode(T a) { return std::sqrt(a); }
#define EMULATED_MODE(mode)                                                                                            \
  EMULATED_ROUNDED(f, float, mode)                                                                                     \
  EMULATED_ROUNDED(d, double, mode)                                                                                    \
  static inline float __fmaf_##mode(float a, float b, float c) { return std::fma(a, b, c); }                           \
  static inline double __fma_##mode(double a, double b, double c) { return std::fma(a, b, c); }
EMULATED_MODE(rn)
EMULATED_MODE(rz)
EMULATED_MODE(ru)
EMULATED_MODE(rd)
#undef EMULATED_MODE
#undef EMULATED_ROUNDED
static inline float __frsqrt_rn(float x) { return 1 / std::sqrt(x); }

#define EMULATED_CONVERSIONS(from, From, mode, round)                                                                  \
  static inline int __##from##2int_##mode(From x) { return (int)round(x); }                                            \
  static inline unsigned __##from##2uint_##mode(From x) { return (unsigned)round(x); }                                 \
  static inline long long __##from##2ll_##mode(From x) { return (long long)round(x); }                                 \
  static inline unsigned long long __##from##2ull_##mode(From x) { return (unsigned long long)round(x); }
#define EMULATED_MODE(mode, round)                                                                                     \
  EMULATED_CONVERSIONS(float, float, mode, round)                                                                      \
  EMULATED_CONVERSIONS(double, double, mode, round)
EMULATED_MODE(rn, std::nearbyint)
EMULATED_MODE(rz, std::trunc)
EMULATED_MODE(ru, std::ceil)
EMULATED_MODE(rd, std::floor)
#undef EMULATED_MODE
#undef EMULATED_CONVERSIONS
static inline float __int2float_rn(int x) { return x; }
static inline float __uint2float_rn(unsigned x) { return x; }
static inline float __ll2float_rn(long long x) { return x; }
static inline float __double2float_rn(double x) { return x; }
static inline double __int2double_rn(int x) { return x; }
static inline double __uint2double_rn(unsigned x) { return x; }

#define EMULATED_BITS(name, From, To)                                                                                  \
  static inline To name(From x) {                                                                                      \
    To r;                                                                                                              \
    std::memcpy(&r, &x, sizeof(r));                                                                                    \
    return r;                                                                                                          \
  }
EMULATED_BITS(__float_as_int, float, int)
EMULATED_BITS(__float_as_uint, float, unsigned)
EMULATED_BITS(__int_as_float, int, float)
EMULATED_BITS(__uint_as_float, unsigned, float)
EMULATED_BITS(__double_as_longlong, double, long long)
EMULATED_BITS(__longlong_as_double, long long, double)
#undef EMULATED_BITS
static inline int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
static inline int __double2loint(double x) { return (int)__double_as_longlong(x); }
static inline double __hiloint2double(int hi, int lo) {
  return __longlong_as_double((long long)((unsigned long long)(unsigned)hi << 32 | (unsigned)lo));
}

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
static inline unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
static inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
static inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
static inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
static inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
  return (unsigned)((((unsigned long long)hi << 32 | lo) << (n & 31)) >> 32);
}
static inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
  return (unsigned)(((unsigned long long)hi << 32 | lo) >> (n & 31));
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  unsigned long long both = (unsigned long long)b << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) {
    unsigned s = selector >> 4 * i & 15, byte = both >> 8 * (s & 7) & 0xff;
    r |= (s & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << 8 * i;
  }
  return r;
}
