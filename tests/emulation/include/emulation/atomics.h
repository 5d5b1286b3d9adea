// Atomics and cached loads and stores. One thread runs at a time, so an
// ordinary update is atomic. Templates give way to a program's own atomicAdd.
#pragma once
#include "emulation/types.h"

#define EMULATED_ATOMIC(name, update)                                                                                  \
  template <class T> T name(T *p, emulated::SameAs<T> v) {                                                             \
    T old = *p;                                                                                                        \
    *p = update;                                                                                                       \
    return old;                                                                                                        \
  }                                                                                                                    \
  template <class T> T name##_block(T *p, emulated::SameAs<T> v) { return name(p, v); }                                \
  template <class T> T name##_system(T *p, emulated::SameAs<T> v) { return name(p, v); }

EMULATED_ATOMIC(atomicAdd, old + v)
EMULATED_ATOMIC(atomicSub, old - v)
EMULATED_ATOMIC(atomicExch, v)
EMULATED_ATOMIC(atomicMin, v < old ? v : old)
EMULATED_ATOMIC(atomicMax, old < v ? v : old)
EMULATED_ATOMIC(atomicAnd, old &v)
EMULATED_ATOMIC(atomicOr, old | v)
EMULATED_ATOMIC(atomicXor, old ^ v)
EMULATED_ATOMIC(atomicInc, old >= v ? 0 : old + 1)
EMULATED_ATOMIC(atomicDec, old == 0 || old > v ? v : old - 1)
#undef EMULATED_ATOMIC

template <class T> T atomicCAS(T *p, emulated::SameAs<T> compare, emulated::SameAs<T> v) {
  T old = *p;
  if (old == compare)
    *p = v;
  return old;
}
template <class T> T atomicCAS_block(T *p, emulated::SameAs<T> c, emulated::SameAs<T> v) { return atomicCAS(p, c, v); }
template <class T> T atomicCAS_system(T *p, emulated::SameAs<T> c, emulated::SameAs<T> v) { return atomicCAS(p, c, v); }

#define EMULATED_LOAD(name)                                                                                            \
  template <class T> T name(const T *p) { return *p; }
EMULATED_LOAD(__ldg)
EMULATED_LOAD(__ldca)
EMULATED_LOAD(__ldcg)
EMULATED_LOAD(__ldcs)
EMULATED_LOAD(__ldcv)
EMULATED_LOAD(__ldlu)
#undef EMULATED_LOAD

#define EMULATED_STORE(name)                                                                                           \
  template <class T> void name(T *p, emulated::SameAs<T> v) { *p = v; }
EMULATED_STORE(__stwb)
EMULATED_STORE(__stcg)
EMULATED_STORE(__stcs)
EMULATED_STORE(__stwt)
#undef EMULATED_STORE
