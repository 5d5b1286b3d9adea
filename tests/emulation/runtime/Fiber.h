// Stacks to run device threads on, and switching between them and the host.
#pragma once

namespace emulated {
struct Fiber;
extern Fiber *current; // the one that runs; null on the host

// A fiber that has nothing to do and, once resumed, calls run() again and again.
Fiber *idleFiber(void (*run)());
// Goes on with a fiber until it is set aside.
void resume(Fiber *f);
// Sets the current fiber aside.
void suspend();
// Whether an address is in the inaccessible page below a fiber's stack.
bool isStackEnd(const char *p);
} // namespace emulated
