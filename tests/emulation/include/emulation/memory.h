// Device memory.
//
// Every allocation has pages of its own with inaccessible ones before and
// after it. Host code cannot touch device memory: its pages open for kernels
// and copies only. What the pages have besides the allocation is checked for
// writes when it is freed and when the program ends.
#pragma once
#include "emulation/errors.h"
#include "emulation/types.h"

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};
enum cudaMemoryType {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3
};
struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void *devicePointer, *hostPointer;
};
typedef struct CUstream_st *cudaStream_t;

enum { cudaMemAttachGlobal = 1, cudaMemAttachHost = 2, cudaMemAttachSingle = 4 };
enum { cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaHostAllocWriteCombined = 4 };
enum { cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1, cudaHostRegisterMapped = 2 };

namespace emulated {
cudaError_t allocate(void **p, size_t bytes, cudaMemoryType where);
cudaError_t release(void *p, cudaMemoryType where);
cudaError_t copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t copy2D(void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width, size_t height,
                   cudaMemcpyKind kind);
cudaError_t fill(void *p, int value, size_t bytes);
} // namespace emulated

cudaError_t cudaMemGetInfo(size_t *available, size_t *total);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *, const void *);

#define EMULATED_INLINE static inline cudaError_t
template <class T> EMULATED_INLINE cudaMalloc(T **p, size_t bytes) {
  return emulated::allocate((void **)p, bytes, cudaMemoryTypeDevice);
}
template <class T> EMULATED_INLINE cudaMallocAsync(T **p, size_t bytes, cudaStream_t) { return cudaMalloc(p, bytes); }
template <class T>
EMULATED_INLINE cudaMallocManaged(T **p, size_t bytes, unsigned /*flags*/ = cudaMemAttachGlobal) {
  return emulated::allocate((void **)p, bytes, cudaMemoryTypeManaged);
}
template <class T> EMULATED_INLINE cudaMallocHost(T **p, size_t bytes, unsigned /*flags*/ = 0) {
  return emulated::allocate((void **)p, bytes, cudaMemoryTypeHost);
}
template <class T> EMULATED_INLINE cudaHostAlloc(T **p, size_t bytes, unsigned flags) {
  return cudaMallocHost(p, bytes, flags);
}
template <class T> EMULATED_INLINE cudaMallocPitch(T **p, size_t *pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(p, *pitch * height);
}
EMULATED_INLINE cudaFree(void *p) { return emulated::release(p, cudaMemoryTypeDevice); }
EMULATED_INLINE cudaFreeAsync(void *p, cudaStream_t) { return cudaFree(p); }
EMULATED_INLINE cudaFreeHost(void *p) { return emulated::release(p, cudaMemoryTypeHost); }
EMULATED_INLINE cudaHostRegister(void *, size_t, unsigned) { return cudaSuccess; }
EMULATED_INLINE cudaHostUnregister(void *) { return cudaSuccess; }
template <class T> EMULATED_INLINE cudaHostGetDevicePointer(T **device, void *host, unsigned) {
  *device = (T *)host;
  return cudaSuccess;
}

EMULATED_INLINE cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  return emulated::copy(to, from, bytes, kind);
}
EMULATED_INLINE cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t = 0) {
  return emulated::copy(to, from, bytes, kind);
}
EMULATED_INLINE cudaMemcpy2D(void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width, size_t height,
                             cudaMemcpyKind kind) {
  return emulated::copy2D(to, toPitch, from, fromPitch, width, height, kind);
}
EMULATED_INLINE cudaMemcpy2DAsync(void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width,
                                  size_t height, cudaMemcpyKind kind, cudaStream_t = 0) {
  return emulated::copy2D(to, toPitch, from, fromPitch, width, height, kind);
}
EMULATED_INLINE cudaMemset(void *p, int value, size_t bytes) { return emulated::fill(p, value, bytes); }
EMULATED_INLINE cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t = 0) {
  return emulated::fill(p, value, bytes);
}
template <class... Hints> EMULATED_INLINE cudaMemPrefetchAsync(const void *, size_t, Hints...) { return cudaSuccess; }
template <class... Hints> EMULATED_INLINE cudaMemAdvise(const void *, size_t, Hints...) { return cudaSuccess; }

// Symbols are ordinary variables.
template <class T>
EMULATED_INLINE cudaMemcpyToSymbol(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                   cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  if (offset > sizeof(T) || bytes > sizeof(T) - offset)
    return emulated::result(cudaErrorInvalidValue);
  return emulated::copy((char *)&symbol + offset, from, bytes, kind);
}
template <class T>
EMULATED_INLINE cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                        cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t = 0) {
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
template <class T>
EMULATED_INLINE cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                     cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  if (offset > sizeof(T) || bytes > sizeof(T) - offset)
    return emulated::result(cudaErrorInvalidValue);
  return emulated::copy(to, (const char *)&symbol + offset, bytes, kind);
}
template <class T>
EMULATED_INLINE cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                          cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t = 0) {
  return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}
template <class P, class T> EMULATED_INLINE cudaGetSymbolAddress(P **p, const T &symbol) {
  *p = (P *)&symbol;
  return cudaSuccess;
}
template <class T> EMULATED_INLINE cudaGetSymbolSize(size_t *bytes, const T &) {
  *bytes = sizeof(T);
  return cudaSuccess;
}
