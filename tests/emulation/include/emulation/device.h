// Devices, streams, events and what a program asks about kernels. Everything
// has happened when a call returns, so streams and events have nothing to do.
#pragma once
#include "emulation/launch.h"
#include <ctime> // clock()

typedef struct CUevent_st *cudaEvent_t;
typedef void (*cudaStreamCallback_t)(cudaStream_t, cudaError_t, void *);
typedef void (*cudaHostFn_t)(void *);
#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum { cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
enum { cudaDeviceScheduleAuto = 0, cudaDeviceScheduleSpin = 1, cudaDeviceScheduleBlockingSync = 4, cudaDeviceMapHost = 8 };
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrWarpSize = 10,
  cudaDevAttrClockRate = 13,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrConcurrentManagedAccess = 89,
  cudaDevAttrCooperativeLaunch = 95,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
enum cudaMemoryAdvise {
  cudaMemAdviseSetReadMostly = 1,
  cudaMemAdviseUnsetReadMostly,
  cudaMemAdviseSetPreferredLocation,
  cudaMemAdviseUnsetPreferredLocation,
  cudaMemAdviseSetAccessedBy,
  cudaMemAdviseUnsetAccessedBy
};
enum { cudaCpuDeviceId = -1, cudaInvalidDeviceId = -2 };
enum cudaMemLocationType { cudaMemLocationTypeInvalid, cudaMemLocationTypeDevice, cudaMemLocationTypeHost };
struct cudaMemLocation {
  cudaMemLocationType type;
  int id;
};

struct cudaDeviceProp {
  char name[256] = "emulation";
  size_t totalGlobalMem = (size_t)8 << 30, sharedMemPerBlock = 48 << 10, totalConstMem = 64 << 10;
  size_t sharedMemPerMultiprocessor = 228 << 10, sharedMemPerBlockOptin = 227 << 10;
  int regsPerBlock = 65536, warpSize = 32, maxThreadsPerBlock = 1024;
  int maxThreadsDim[3] = {1024, 1024, 64}, maxGridSize[3] = {2147483647, 65535, 65535};
  int major = 9, minor = 0, multiProcessorCount = 4, maxThreadsPerMultiProcessor = 2048, l2CacheSize = 50 << 20;
  int managedMemory = 1, concurrentManagedAccess = 1, unifiedAddressing = 1, canMapHostMemory = 1;
  int memoryBusWidth = 5120, concurrentKernels = 1, asyncEngineCount = 1, cooperativeLaunch = 0, ECCEnabled = 1;
};
struct cudaFuncAttributes {
  size_t sharedSizeBytes = 0, constSizeBytes = 0, localSizeBytes = 0;
  int maxThreadsPerBlock = 1024, numRegs = 32, maxDynamicSharedSizeBytes = 48 << 10;
};

cudaError_t cudaDeviceReset();
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
long long clock64(); // counts calls

EMULATED_INLINE cudaDeviceSynchronize() { return cudaSuccess; }
EMULATED_INLINE cudaThreadSynchronize() { return cudaSuccess; }
EMULATED_INLINE cudaGetDeviceCount(int *n) { return *n = 1, cudaSuccess; }
EMULATED_INLINE cudaGetDevice(int *device) { return *device = 0, cudaSuccess; }
EMULATED_INLINE cudaSetDevice(int device) { return emulated::result(device ? cudaErrorInvalidDevice : cudaSuccess); }
EMULATED_INLINE cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
EMULATED_INLINE cudaGetDeviceProperties(cudaDeviceProp *p, int) { return *p = cudaDeviceProp(), cudaSuccess; }
EMULATED_INLINE cudaDriverGetVersion(int *version) { return *version = CUDA_VERSION, cudaSuccess; }
EMULATED_INLINE cudaRuntimeGetVersion(int *version) { return *version = CUDART_VERSION, cudaSuccess; }
EMULATED_INLINE cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
EMULATED_INLINE cudaDeviceSetLimit(int, size_t) { return cudaSuccess; }
EMULATED_INLINE cudaProfilerStart() { return cudaSuccess; }
EMULATED_INLINE cudaProfilerStop() { return cudaSuccess; }

EMULATED_INLINE cudaStreamCreate(cudaStream_t *s) { return *s = (cudaStream_t)0x10, cudaSuccess; }
EMULATED_INLINE cudaStreamCreateWithFlags(cudaStream_t *s, unsigned) { return cudaStreamCreate(s); }
EMULATED_INLINE cudaStreamCreateWithPriority(cudaStream_t *s, unsigned, int) { return cudaStreamCreate(s); }
EMULATED_INLINE cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
EMULATED_INLINE cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
EMULATED_INLINE cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
EMULATED_INLINE cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) { return cudaSuccess; }
EMULATED_INLINE cudaStreamAttachMemAsync(cudaStream_t, void *, size_t = 0, unsigned = 4) { return cudaSuccess; }
EMULATED_INLINE cudaStreamAddCallback(cudaStream_t s, cudaStreamCallback_t f, void *data, unsigned) {
  return f(s, cudaSuccess, data), cudaSuccess;
}
EMULATED_INLINE cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t f, void *data) { return f(data), cudaSuccess; }

EMULATED_INLINE cudaEventCreate(cudaEvent_t *e) { return *e = (cudaEvent_t)0x10, cudaSuccess; }
EMULATED_INLINE cudaEventCreateWithFlags(cudaEvent_t *e, unsigned) { return cudaEventCreate(e); }
EMULATED_INLINE cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
EMULATED_INLINE cudaEventRecord(cudaEvent_t, cudaStream_t = 0) { return cudaSuccess; }
EMULATED_INLINE cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
EMULATED_INLINE cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
// Always the same, so that a program which prints it prints the same bytes.
EMULATED_INLINE cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t) { return *ms = 1, cudaSuccess; }

template <class K> EMULATED_INLINE cudaFuncSetAttribute(K, cudaFuncAttribute, int) { return cudaSuccess; }
template <class K> EMULATED_INLINE cudaFuncSetCacheConfig(K, cudaFuncCache) { return cudaSuccess; }
template <class K> EMULATED_INLINE cudaFuncGetAttributes(cudaFuncAttributes *a, K) {
  return *a = cudaFuncAttributes(), cudaSuccess;
}
template <class K>
EMULATED_INLINE cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, K, int threads, size_t) {
  return *blocks = threads > 0 ? 2048 / threads : 0, cudaSuccess;
}
template <class K>
EMULATED_INLINE cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, K, size_t = 0, int limit = 0) {
  *block = limit && limit < 256 ? limit : 256;
  return *grid = 32, cudaSuccess;
}
