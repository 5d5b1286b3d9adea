// The block that runs: its threads, its barrier, and what its warps do together.
#pragma once
#include "Fiber.h"
#include "cuda_runtime.h"
#include <vector>

namespace emulated {
const size_t SHARED_BYTES = 227 << 10, SHARED_GUARD = 4 << 10;

enum State { Running, Ready, AtBarrier, AtCollective, AtActiveMask };

struct Thread {
  State state;
  Fiber *fiber;
  uint64_t result;  // what it gets when it goes on
  const char *file; // of the __activemask() it waits at
  int line;
};

// An operation of a warp that some of its lanes have called.
struct Collective {
  Finish finish;
  unsigned mask;
  Lanes lanes;
};

struct Warp {
  unsigned alive; // bit per lane
  std::vector<Collective> waiting;
};

struct Block {
  static const unsigned MAX_THREADS = 1024;
  void (*thread)(const void *);
  const void *body;
  unsigned size, next, alive, now; // threads; the first that has not begun; those that have not ended; the one that runs
  unsigned arrived, trueArrived;   // at the barrier, and with a predicate that holds
  unsigned before, trueBefore;     // the same when it last opened
  Thread threads[MAX_THREADS];
  Warp warps[MAX_THREADS / 32];

  void begin();
  // The current thread has ended: nobody waits for it any more.
  void end();
  // Sets the current thread aside until it is Ready.
  uint64_t wait(State state);
  void atBarrier(bool predicate);
  bool openBarrier();
  uint64_t atCollective(unsigned mask, uint64_t value, unsigned argument, Finish finish);
  bool finishIfComplete(Warp &w, size_t c);
  // Once nobody can go on, the lanes that ask at one place have arrived together.
  bool answerActiveMasks();
};
extern Block block;
} // namespace emulated
