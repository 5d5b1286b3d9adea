// Launches.
//
// to_cpp.py turns k<<<grid, block>>>(a) into
//   (::emulated::configure(grid, block), k(a), ::emulated::launched())
// and the body of the kernel into ::emulated::run([=]() mutable { body }), so
// that k is called once, by the rules of C++, and its body once per thread.
// Threads run one after another on fibers: a thread that waits is set aside.
#pragma once
#include "emulation/memory.h"
#include <utility>

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
const int warpSize = 32;

namespace emulated {
// Says what the next kernel runs on; false and the last error where that is impossible.
bool configure(dim3 grid, dim3 block, size_t sharedBytes = 0, cudaStream_t = 0);
// Checks that a kernel took what configure() said.
void launched();
void runGrid(void (*thread)(const void *body), const void *body);
extern unsigned char sharedMemory[];

// Every thread has its own copy of the parameters.
template <class Body> void run(const Body &body) {
  runGrid(
      [](const void *b) {
        Body own = *static_cast<const Body *>(b);
        own();
      },
      &body);
}

template <class... P, size_t... I>
cudaError_t launch(void (*kernel)(P...), dim3 grid, dim3 block, void **args, size_t sharedBytes,
                   std::index_sequence<I...>) {
  bool valid = configure(grid, block, sharedBytes);
  kernel(*static_cast<std::remove_reference_t<P> *>(args[I])...);
  launched();
  return valid ? cudaSuccess : cudaErrorInvalidConfiguration;
}
} // namespace emulated

// to_cpp.py removes the cast to const void * before the kernel.
template <class... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void **args, size_t sharedBytes = 0,
                             cudaStream_t = 0) {
  return emulated::launch(kernel, grid, block, args, sharedBytes, std::index_sequence_for<P...>());
}
inline cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t = 0, cudaStream_t = 0) {
  emulated::fail("cudaLaunchKernel: the kernel is not named in the call");
}
template <class... P>
cudaError_t cudaLaunchCooperativeKernel(void (*)(P...), dim3, dim3, void **, size_t = 0, cudaStream_t = 0) {
  emulated::fail("cooperative launches are not emulated");
}
