// Errors: those that calls return, and those that end the program.
#include "Runtime.h"
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <unistd.h>

static cudaError_t last = cudaSuccess;

cudaError_t emulated::result(cudaError_t e) {
  if (e != cudaSuccess)
    last = e;
  return e;
}
cudaError_t cudaPeekAtLastError() { return last; }
cudaError_t cudaGetLastError() {
  cudaError_t e = last;
  last = cudaSuccess;
  return e;
}

static const struct {
  cudaError_t code;
  const char *name, *text;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
};

const char *cudaGetErrorName(cudaError_t e) {
  for (const auto &known : errors)
    if (known.code == e)
      return known.name;
  return "cudaErrorUnknown";
}
const char *cudaGetErrorString(cudaError_t e) {
  for (const auto &known : errors)
    if (known.code == e)
      return known.text;
  return "unknown error";
}

void emulated::fail(const char *format, ...) {
  std::fflush(stdout);
  va_list arguments;
  va_start(arguments, format);
  std::fprintf(stderr, "emulation: ");
  std::vfprintf(stderr, format, arguments);
  std::fprintf(stderr, "%s\n", whereItRuns());
  _exit(99);
}

#if !__has_feature(address_sanitizer)
// Says what the address was that the program may not touch.
static void onFault(int signal, siginfo_t *info, void *) {
  const char *p = static_cast<const char *>(info->si_addr);
  const char *what = signal == SIGILL ? "a misaligned access, or code that is never reached" : emulated::describe(p);
  char text[256];
  int n = std::snprintf(text, sizeof(text), "emulation: %s at %p: %s%s\n", strsignal(signal), (const void *)p,
                        what ? what : "not an address of this program", emulated::whereItRuns());
  (void)!write(STDERR_FILENO, text, n);
  _exit(99);
}

[[gnu::constructor]] static void catchFaults() {
  static char stack[1 << 16]; // a device thread may have used up its own
  stack_t s = {};
  s.ss_sp = stack;
  s.ss_size = sizeof(stack);
  sigaltstack(&s, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL})
    sigaction(signal, &action, nullptr);
}
#endif
