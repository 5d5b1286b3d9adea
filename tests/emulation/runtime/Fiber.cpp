#include "Fiber.h"
#include "Runtime.h"
#include <csetjmp>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

namespace emulated {
static const size_t STACK_BYTES = 1 << 20, PAGE = 4096;

// A context starts a fiber; jumps, which ask nothing of the kernel, do the rest.
struct Fiber {
  char *stack;
  ucontext_t start;
  jmp_buf place;
  bool started = false;
  void (*run)();
};
Fiber *current = nullptr;
static std::vector<Fiber *> idle, all;
static jmp_buf host;

#if __has_feature(address_sanitizer)
// The sanitizer has to know whose stack comes next.
extern "C" void __sanitizer_start_switch_fiber(void **fake, const void *stack, size_t bytes);
extern "C" void __sanitizer_finish_switch_fiber(void *fake, const void **stack, size_t *bytes);
static const void *hostStack;
static size_t hostBytes;
static void leaveTo(const void *stack, size_t bytes, void **fake) { __sanitizer_start_switch_fiber(fake, stack, bytes); }
static void backOnFiber(void *fake) { __sanitizer_finish_switch_fiber(fake, &hostStack, &hostBytes); }
static void backOnHost(void *fake) { __sanitizer_finish_switch_fiber(fake, nullptr, nullptr); }
#else
static const void *hostStack = nullptr;
static size_t hostBytes = 0;
static void leaveTo(const void *, size_t, void **) {}
static void backOnFiber(void *) {}
static void backOnHost(void *) {}
#endif

void suspend() {
  void *fake = nullptr;
  leaveTo(hostStack, hostBytes, &fake);
  if (_setjmp(current->place) == 0)
    _longjmp(host, 1);
  backOnFiber(fake);
}

void resume(Fiber *f) {
  void *fake = nullptr;
  current = f;
  leaveTo(f->stack, STACK_BYTES, &fake);
  if (_setjmp(host) == 0) {
    if (f->started)
      _longjmp(f->place, 1);
    f->started = true;
    setcontext(&f->start);
  }
  backOnHost(fake);
  current = nullptr;
}

static void forever() {
  backOnFiber(nullptr);
  for (;;) {
    current->run();
    idle.push_back(current);
    suspend();
  }
}

Fiber *idleFiber(void (*run)()) {
  if (idle.empty()) {
    Fiber *f = new Fiber;
    void *stack = mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED)
      fail("no memory for the stack of a thread");
    mprotect(stack, PAGE, PROT_NONE);
    f->stack = (char *)stack;
    getcontext(&f->start);
    f->start.uc_stack.ss_sp = stack;
    f->start.uc_stack.ss_size = STACK_BYTES;
    makecontext(&f->start, forever, 0);
    all.push_back(f);
    idle.push_back(f);
  }
  Fiber *f = idle.back();
  idle.pop_back();
  f->run = run;
  return f;
}

bool isStackEnd(const char *p) {
  for (const Fiber *f : all)
    if (p >= f->stack && p < f->stack + PAGE)
      return true;
  return false;
}
} // namespace emulated
