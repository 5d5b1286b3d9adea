// Linked into each program in front of the CUDA runtime (ld --wrap), to record copies to the host.
#include "transfers.h"
#include <cuda_runtime.h>

extern "C" {
cudaError_t __real_cudaMemcpy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind);
cudaError_t __real_cudaMemcpyAsync(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t __wrap_cudaMemcpy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind);
cudaError_t __wrap_cudaMemcpyAsync(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
}

cudaError_t __wrap_cudaMemcpy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind) {
  cudaError_t e = __real_cudaMemcpy(dst, src, bytes, kind);
  if (e == cudaSuccess && kind == cudaMemcpyDeviceToHost)
    recordTransfer(dst, bytes);
  return e;
}

cudaError_t __wrap_cudaMemcpyAsync(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  cudaError_t e = __real_cudaMemcpyAsync(dst, src, bytes, kind, stream);
  if (e == cudaSuccess && kind == cudaMemcpyDeviceToHost && cudaStreamSynchronize(stream) == cudaSuccess)
    recordTransfer(dst, bytes);
  return e;
}
