// What nvcc declares and Clang does not: read before every CUDA file, as a system
// header. A name here means what nvcc makes of it.
#pragma once
#pragma GCC system_header

// cuda_runtime.h brings these along, for the host too.
#include <math.h>
#include <time.h>

// crt/math_functions.hpp has these for both sides, mixed types included; Clang
// reads it for the device alone.
#define RESTRIDE_MIN_MAX(R, A, B)                                                                                      \
  static inline __attribute__((always_inline, unused)) R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; }           \
  static inline __attribute__((always_inline, unused)) R max(A a, B b) { return (R)a > (R)b ? (R)a : (R)b; }
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
template <typename T, typename V> static inline __attribute__((always_inline, device)) void __stwb(T *p, V v) { *p = v; }
template <typename T, typename V> static inline __attribute__((always_inline, device)) void __stcg(T *p, V v) { *p = v; }
template <typename T, typename V> static inline __attribute__((always_inline, device)) void __stcs(T *p, V v) { *p = v; }
template <typename T> static inline __attribute__((always_inline, device)) T __ldca(const T *p) { return *p; }
template <typename T> static inline __attribute__((always_inline, device)) T __ldlu(const T *p) { return *p; }

static inline __attribute__((always_inline, device)) float __tanhf(float a) {
  float r;
  asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}

// Built-in functions of nvcc 12.8. What they cost does not hang on the order that
// they ask for.
enum { __NV_ATOMIC_RELAXED, __NV_ATOMIC_CONSUME, __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_RELEASE, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_SEQ_CST };
enum { __NV_THREAD_SCOPE_THREAD, __NV_THREAD_SCOPE_BLOCK, __NV_THREAD_SCOPE_CLUSTER, __NV_THREAD_SCOPE_DEVICE, __NV_THREAD_SCOPE_SYSTEM };
#define RESTRIDE_ATOMIC(R, Name, Parameters, Call)                                                                     \
  template <typename T> static inline __attribute__((always_inline, device)) R __nv_atomic_##Name Parameters { return Call; }
RESTRIDE_ATOMIC(T, load_n, (T *p, int, int = 0), __atomic_load_n(p, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(void, load, (T *p, T *to, int, int = 0), __atomic_load(p, to, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(void, store_n, (T *p, T v, int, int = 0), __atomic_store_n(p, v, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(void, store, (T *p, T *v, int, int = 0), __atomic_store(p, v, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(T, exchange_n, (T *p, T v, int, int = 0), __atomic_exchange_n(p, v, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(bool, compare_exchange_n, (T *p, T *expected, T v, bool, int, int, int = 0),
                __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(T, fetch_add, (T *p, T v, int, int = 0), __atomic_fetch_add(p, v, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(T, fetch_sub, (T *p, T v, int, int = 0), __atomic_fetch_sub(p, v, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(T, fetch_and, (T *p, T v, int, int = 0), __atomic_fetch_and(p, v, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(T, fetch_or, (T *p, T v, int, int = 0), __atomic_fetch_or(p, v, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(T, fetch_xor, (T *p, T v, int, int = 0), __atomic_fetch_xor(p, v, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(T, fetch_min, (T *p, T v, int, int = 0), __atomic_fetch_min(p, v, __ATOMIC_RELAXED))
RESTRIDE_ATOMIC(T, fetch_max, (T *p, T v, int, int = 0), __atomic_fetch_max(p, v, __ATOMIC_RELAXED))
#undef RESTRIDE_ATOMIC
