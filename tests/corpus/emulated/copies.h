// Included into each file of a program that is emulated on the CPU, to record copies to the host.
#pragma once
#include "../transfers.h"
#include <cuda_runtime.h>

inline cudaError_t recordedCopy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind) {
  cudaError_t e = cudaMemcpy(dst, src, bytes, kind);
  if (e == cudaSuccess && kind == cudaMemcpyDeviceToHost)
    recordTransfer(dst, bytes);
  return e;
}

inline cudaError_t recordedCopy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  return recordedCopy(dst, src, bytes, kind);
}

#define cudaMemcpy recordedCopy
#define cudaMemcpyAsync recordedCopy
