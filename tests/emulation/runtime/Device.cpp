// Time that passes by the call, so that a program which prints how long it
// took, or seeds from the clock, does the same every time.
#include "Runtime.h"
#include <ctime>
#include <sys/time.h>

static long long ticks = 0; // milliseconds

long long clock64() { return ++ticks; }

extern "C" {
int clock_gettime(clockid_t, timespec *t) noexcept {
  long long now = ++ticks;
  *t = {(time_t)(now / 1000), (long)(now % 1000) * 1000000};
  return 0;
}
int gettimeofday(timeval *t, void *) noexcept {
  long long now = ++ticks;
  *t = {(time_t)(now / 1000), (suseconds_t)(now % 1000) * 1000};
  return 0;
}
time_t time(time_t *t) noexcept {
  time_t now = ++ticks / 1000;
  return t ? *t = now : now;
}
clock_t clock() noexcept { return ++ticks * (CLOCKS_PER_SEC / 1000); }
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
  cudaDeviceProp p;
  switch (attribute) {
  case cudaDevAttrMaxThreadsPerBlock:
    *value = p.maxThreadsPerBlock;
    break;
  case cudaDevAttrMaxSharedMemoryPerBlock:
    *value = (int)p.sharedMemPerBlock;
    break;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin:
    *value = (int)p.sharedMemPerBlockOptin;
    break;
  case cudaDevAttrWarpSize:
    *value = p.warpSize;
    break;
  case cudaDevAttrMultiProcessorCount:
    *value = p.multiProcessorCount;
    break;
  case cudaDevAttrComputeCapabilityMajor:
    *value = p.major;
    break;
  case cudaDevAttrComputeCapabilityMinor:
    *value = p.minor;
    break;
  case cudaDevAttrConcurrentManagedAccess:
    *value = p.concurrentManagedAccess;
    break;
  default:
    *value = 0;
  }
  return cudaSuccess;
}
