// What nvcc declares and Clang does not: read before every CUDA file, as a system
// header. A name here means what nvcc makes of it. Other names are reserved ones,
// since a program's own macros are there already.
#pragma once
#pragma GCC system_header

// Of restride_before.h.
#pragma pop_macro("A")
#pragma pop_macro("B")
#pragma pop_macro("C")
#pragma pop_macro("D")
#pragma pop_macro("E")
#pragma pop_macro("F")
#pragma pop_macro("G")
#pragma pop_macro("H")
#pragma pop_macro("I")
#pragma pop_macro("J")
#pragma pop_macro("K")
#pragma pop_macro("L")
#pragma pop_macro("M")
#pragma pop_macro("N")
#pragma pop_macro("O")
#pragma pop_macro("P")
#pragma pop_macro("Q")
#pragma pop_macro("R")
#pragma pop_macro("S")
#pragma pop_macro("T")
#pragma pop_macro("U")
#pragma pop_macro("V")
#pragma pop_macro("W")
#pragma pop_macro("X")
#pragma pop_macro("Y")
#pragma pop_macro("Z")

// A square root is rounded correctly, if no -prec-sqrt=false asks for less. Clang
// would have the approximate one of the two that libdevice has.
#ifndef __RESTRIDE_APPROX_SQRT
#undef __nv_sqrtf
extern "C" inline __attribute__((always_inline, device)) float __restride_sqrtf(float __a) {
  return __nvvm_reflect("__CUDA_FTZ") ? __nvvm_sqrt_rn_ftz_f(__a) : __nvvm_sqrt_rn_f(__a);
}
#endif

// cuda_runtime.h brings these along, for the host too.
#include <math.h>
#include <time.h>

// crt/math_functions.hpp has these for both sides, mixed types included; Clang
// reads it for the device alone.
#define RESTRIDE_MIN_MAX(__R, __A, __B)                                                                                      \
  static inline __attribute__((always_inline, unused)) __R min(__A __a, __B __b) { return (__R)__a < (__R)__b ? (__R)__a : (__R)__b; }           \
  static inline __attribute__((always_inline, unused)) __R max(__A __a, __B __b) { return (__R)__a > (__R)__b ? (__R)__a : (__R)__b; }
RESTRIDE_MIN_MAX(int, int, int)
RESTRIDE_MIN_MAX(unsigned, unsigned, unsigned)
RESTRIDE_MIN_MAX(long, long, long)
RESTRIDE_MIN_MAX(unsigned long, unsigned long, unsigned long)
RESTRIDE_MIN_MAX(long long, long long, long long)
RESTRIDE_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
RESTRIDE_MIN_MAX(float, float, float)
RESTRIDE_MIN_MAX(double, double, double)
RESTRIDE_MIN_MAX(unsigned, int, unsigned)
RESTRIDE_MIN_MAX(unsigned, unsigned, int)
RESTRIDE_MIN_MAX(unsigned long, long, unsigned long)
RESTRIDE_MIN_MAX(unsigned long, unsigned long, long)
RESTRIDE_MIN_MAX(unsigned long long, long long, unsigned long long)
RESTRIDE_MIN_MAX(unsigned long long, unsigned long long, long long)
RESTRIDE_MIN_MAX(double, float, double)
RESTRIDE_MIN_MAX(double, double, float)
#undef RESTRIDE_MIN_MAX

// Clang defines it as nothing, and "#if __CUDACC__" is an error then.
#undef __CUDACC__
#define __CUDACC__ 1

// Hints for caches, which change no result and no number of transactions.
template <typename __T, typename __V> static inline __attribute__((always_inline, device)) void __stwb(__T *__p, __V __v) { *__p = __v; }
template <typename __T, typename __V> static inline __attribute__((always_inline, device)) void __stcg(__T *__p, __V __v) { *__p = __v; }
template <typename __T, typename __V> static inline __attribute__((always_inline, device)) void __stcs(__T *__p, __V __v) { *__p = __v; }
template <typename __T> static inline __attribute__((always_inline, device)) __T __ldca(const __T *__p) { return *__p; }
template <typename __T> static inline __attribute__((always_inline, device)) __T __ldlu(const __T *__p) { return *__p; }

static inline __attribute__((always_inline, device)) float __tanhf(float __a) {
  float __r;
  asm("tanh.approx.f32 %0, %1;" : "=f"(__r) : "f"(__a));
  return __r;
}

// Built-in functions of nvcc 12.8. What they cost does not hang on the order that
// they ask for.
enum { __NV_ATOMIC_RELAXED, __NV_ATOMIC_CONSUME, __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_RELEASE, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_SEQ_CST };
enum { __NV_THREAD_SCOPE_THREAD, __NV_THREAD_SCOPE_BLOCK, __NV_THREAD_SCOPE_CLUSTER, __NV_THREAD_SCOPE_DEVICE, __NV_THREAD_SCOPE_SYSTEM };
#define RESTRIDE_ATOMIC(__R, __Name, __Parameters, __Call)                                                                     \
  template <typename __T> static inline __attribute__((always_inline, device)) __R __nv_atomic_##__Name __Parameters { return __Call; }
RESTRIDE_ATOMIC(__T, load_n, (__T *__p, int, int = 0), __atomic_load_n(__p, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(void, load, (__T *__p, __T *__to, int, int = 0), __atomic_load(__p, __to, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(void, store_n, (__T *__p, __T __v, int, int = 0), __atomic_store_n(__p, __v, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(void, store, (__T *__p, __T *__v, int, int = 0), __atomic_store(__p, __v, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(__T, exchange_n, (__T *__p, __T __v, int, int = 0), __atomic_exchange_n(__p, __v, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(bool, compare_exchange_n, (__T *__p, __T *__expected, __T __v, bool, int, int, int = 0),
                __atomic_compare_exchange_n(__p, __expected, __v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(__T, fetch_add, (__T *__p, __T __v, int, int = 0), __atomic_fetch_add(__p, __v, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(__T, fetch_sub, (__T *__p, __T __v, int, int = 0), __atomic_fetch_sub(__p, __v, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(__T, fetch_and, (__T *__p, __T __v, int, int = 0), __atomic_fetch_and(__p, __v, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(__T, fetch_or, (__T *__p, __T __v, int, int = 0), __atomic_fetch_or(__p, __v, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(__T, fetch_xor, (__T *__p, __T __v, int, int = 0), __atomic_fetch_xor(__p, __v, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(__T, fetch_min, (__T *__p, __T __v, int, int = 0), __atomic_fetch_min(__p, __v, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(__T, fetch_max, (__T *__p, __T __v, int, int = 0), __atomic_fetch_max(__p, __v, __ATOMIC_RELAXED))
#undef RESTRIDE_ATOMIC
