// What the files of the runtime know of each other.
#pragma once
#include "cuda_runtime.h"

namespace emulated {
// Device memory is accessible while one of these lives.
class DeviceMemory {
public:
  DeviceMemory();
  ~DeviceMemory();
};
// The thread that runs, in words; empty on the host.
const char *whereItRuns();
// What an address is to the host or to a thread that may not touch it; null where nothing is known.
const char *describe(const char *p);
} // namespace emulated
