#include "Block.h"

namespace emulated {
void Block::begin() {
  next = arrived = trueArrived = 0;
  alive = size;
  for (unsigned first = 0; first < size; first += 32)
    warps[first / 32].alive = size - first < 32 ? (1u << (size - first)) - 1 : ~0u;
}

void Block::end() {
  Warp &w = warps[now / 32];
  w.alive &= ~(1u << now % 32);
  --alive;
  if (arrived)
    openBarrier();
  for (size_t c = w.waiting.size(); c-- > 0;)
    finishIfComplete(w, c);
}

bool Block::openBarrier() {
  if (arrived < alive)
    return false;
  before = arrived;
  trueBefore = trueArrived;
  arrived = trueArrived = 0;
  for (unsigned t = 0; t < size; ++t)
    if (threads[t].state == AtBarrier)
      threads[t].state = Ready;
  return true;
}

void Block::atBarrier(bool predicate) {
  if (!current)
    fail("a barrier on the host");
  ++arrived;
  trueArrived += predicate;
  if (!openBarrier())
    wait(AtBarrier);
}

// Hands out the results of a collective whose lanes have all arrived.
bool Block::finishIfComplete(Warp &w, size_t c) {
  Collective &group = w.waiting[c];
  if (group.mask & w.alive & ~group.lanes.present)
    return false;
  group.finish(group.lanes);
  group.lanes.each([&](int lane) {
    Thread &t = threads[(&w - warps) * 32 + lane];
    t.result = group.lanes.result[lane];
    if (t.state == AtCollective)
      t.state = Ready;
  });
  w.waiting.erase(w.waiting.begin() + c);
  return true;
}

uint64_t Block::atCollective(unsigned mask, uint64_t value, unsigned argument, Finish finish) {
  if (!current)
    fail("an operation of a warp, on the host");
  unsigned t = now, lane = t % 32;
  if (!(mask >> lane & 1))
    fail("an operation of a warp by a lane that its mask 0x%x does not have", mask);
  Warp &w = warps[t / 32];
  size_t c = 0;
  while (c < w.waiting.size() && (w.waiting[c].mask != mask || w.waiting[c].finish != finish))
    ++c;
  if (c == w.waiting.size())
    w.waiting.push_back({finish, mask, {}});
  Lanes &lanes = w.waiting[c].lanes;
  lanes.present |= 1u << lane;
  lanes.value[lane] = value;
  lanes.argument[lane] = argument;
  return finishIfComplete(w, c) ? threads[t].result : wait(AtCollective);
}

bool Block::answerActiveMasks() {
  bool any = false;
  for (unsigned t = 0; t < size; ++t) {
    const Thread asked = threads[t];
    if (asked.state != AtActiveMask)
      continue;
    unsigned first = t / 32 * 32, mask = 0;
    for (unsigned u = t; u < size && u < first + 32; ++u)
      if (threads[u].state == AtActiveMask && threads[u].file == asked.file && threads[u].line == asked.line) {
        mask |= 1u << (u - first);
        threads[u].state = Ready;
      }
    for (unsigned rest = mask; rest; rest &= rest - 1)
      threads[first + __builtin_ctz(rest)].result = mask;
    any = true;
  }
  return any;
}

uint64_t collective(unsigned mask, uint64_t value, unsigned argument, Finish finish) {
  return block.atCollective(mask, value, argument, finish);
}

unsigned laneOf() { return block.now % 32; }

unsigned activeMask(const char *file, int line) {
  if (!current)
    fail("an operation of a warp, on the host");
  block.threads[block.now].file = file;
  block.threads[block.now].line = line;
  return (unsigned)block.wait(AtActiveMask);
}
} // namespace emulated

using emulated::block;
void __syncthreads() { block.atBarrier(false); }
int __syncthreads_count(int predicate) {
  block.atBarrier(predicate != 0);
  return (int)block.trueBefore;
}
int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
int __syncthreads_and(int predicate) { return __syncthreads_count(predicate) == (int)block.before; }
