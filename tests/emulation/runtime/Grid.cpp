// Runs grids: blocks one after another, the threads of a block on fibers.
//
// A fiber runs thread after thread to their ends. Only when a thread has to
// wait does the next one get a fiber of its own, so that kernels without
// barriers run in one loop. Waiting threads go on in the order of their index.
#include "Block.h"
#include "Runtime.h"
#include <cstdio>
#include <vector>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulated {
alignas(1024) unsigned char sharedMemory[SHARED_BYTES + SHARED_GUARD];
Block block;

namespace {
const unsigned char FRESH = 0xa5, SLACK = 0xfd;

struct Configuration {
  dim3 grid, block;
  size_t sharedBytes;
  bool valid;
};
std::vector<Configuration> pending; // launches whose kernels have not been called yet
size_t taken = 0, said = 0;
uint3 indices[Block::MAX_THREADS];

void runThreads() {
  while (block.next < block.size) {
    block.now = block.next++;
    threadIdx = indices[block.now];
    block.thread(block.body);
    block.end();
  }
}

void runBlock() {
  block.begin();
  while (block.alive) {
    bool moved = block.next < block.size;
    if (moved)
      resume(idleFiber(runThreads));
    else
      for (unsigned t = 0; t < block.size; ++t)
        if (block.threads[t].state == Ready) {
          resume(block.threads[t].fiber);
          moved = true;
        }
    if (!moved && !block.answerActiveMasks())
      fail("%u threads of block (%u, %u, %u) wait for others that never come", block.alive, blockIdx.x, blockIdx.y,
           blockIdx.z);
  }
}

void checkSharedMemory(size_t bytes) {
  for (size_t i = bytes; i < bytes + SHARED_GUARD; ++i)
    if (sharedMemory[i] != SLACK)
      fail("a write %zu bytes beyond the %zu bytes of dynamic shared memory", i - bytes + 1, bytes);
}
} // namespace

uint64_t Block::wait(State state) {
  unsigned t = now;
  threads[t].state = state;
  threads[t].fiber = current;
  suspend();
  now = t;
  threads[t].state = Running;
  threadIdx = indices[t];
  return threads[t].result;
}

bool configure(dim3 grid, dim3 b, size_t sharedBytes, cudaStream_t) {
  if (current)
    fail("a launch from a kernel is not emulated");
  bool valid = grid.x && grid.y && grid.z && b.x && b.y && b.z && (uint64_t)b.x * b.y * b.z <= Block::MAX_THREADS &&
               b.z <= 64 && grid.y < 65536 && grid.z < 65536 && sharedBytes <= SHARED_BYTES;
  if (!valid)
    result(cudaErrorInvalidConfiguration);
  pending.push_back({grid, b, sharedBytes, valid});
  return valid;
}

void launched() {
  if (++said != taken)
    fail("a launch of something whose body is not seen to be a kernel's");
}

void runGrid(void (*thread)(const void *), const void *body) {
  if (pending.empty())
    fail("a kernel is called without a launch");
  Configuration c = pending.back();
  pending.pop_back();
  ++taken;
  if (!c.valid)
    return;
  gridDim = c.grid;
  blockDim = c.block;
  block.thread = thread;
  block.body = body;
  block.size = c.block.x * c.block.y * c.block.z;
  for (unsigned t = 0; t < block.size; ++t)
    indices[t] = {t % c.block.x, t / c.block.x % c.block.y, t / c.block.x / c.block.y};
  std::memset(sharedMemory, FRESH, c.sharedBytes);
  std::memset(sharedMemory + c.sharedBytes, SLACK, SHARED_GUARD);
  DeviceMemory access;
  for (blockIdx.z = 0; blockIdx.z < c.grid.z; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < c.grid.y; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < c.grid.x; ++blockIdx.x) {
        runBlock();
        checkSharedMemory(c.sharedBytes);
      }
}

const char *whereItRuns() {
  static char text[128];
  text[0] = 0;
  if (current)
    std::snprintf(text, sizeof(text), " (block %u %u %u, thread %u %u %u)", blockIdx.x, blockIdx.y, blockIdx.z,
                  threadIdx.x, threadIdx.y, threadIdx.z);
  return text;
}
} // namespace emulated
