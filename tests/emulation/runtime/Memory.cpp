// Allocations on pages of their own, and copies that know what they touch.
#include "Fiber.h"
#include "Runtime.h"
#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>

namespace {
const size_t PAGE = 4096, ALIGNMENT = 256;
const unsigned char FRESH = 0xa5, SLACK = 0xfd; // what new memory holds, and what is around it

struct Allocation {
  char *pages;
  size_t pageBytes; // without the inaccessible page on either side
  size_t bytes;
  cudaMemoryType where;
  bool freed;
};
// By first byte. Addresses are never used again, so that a stale pointer stays one.
std::map<const char *, Allocation> &all = *new std::map<const char *, Allocation>;
int users = 0; // of device memory, at the moment

const std::pair<const char *const, Allocation> *find(const char *p, size_t reach = 0) {
  auto next = all.upper_bound(p);
  if (next == all.begin())
    return nullptr;
  const auto &entry = *std::prev(next);
  return p < entry.first + entry.second.bytes + reach ? &entry : nullptr;
}

void open(const Allocation &a, bool accessible) {
  mprotect(a.pages, a.pageBytes, accessible ? PROT_READ | PROT_WRITE : PROT_NONE);
}

void checkSlack(const char *p, const Allocation &a) {
  for (const char *q = a.pages; q < a.pages + a.pageBytes; ++q) {
    if (q == p)
      q += a.bytes;
    if (q < a.pages + a.pageBytes && (unsigned char)*q != SLACK)
      emulated::fail("a write %td bytes %s an allocation of %zu bytes", q < p ? p - q : q - p - a.bytes + 1,
                     q < p ? "before" : "beyond", a.bytes);
  }
}

[[gnu::destructor]] void checkAll() {
  emulated::DeviceMemory access;
  for (const auto &[p, a] : all)
    if (!a.freed)
      checkSlack(p, a);
}

extern "C" char __executable_start, _end;
bool isVariable(const char *p, size_t bytes) { return p >= &__executable_start && p + bytes <= &_end; }

bool onDevice(const void *pointer, size_t bytes) {
  const char *p = static_cast<const char *>(pointer);
  const auto *entry = find(p);
  if (!entry)
    return isVariable(p, bytes);
  return !entry->second.freed && p + bytes <= entry->first + entry->second.bytes;
}

bool onHost(const void *pointer, size_t bytes) {
  const auto *entry = find(static_cast<const char *>(pointer));
  return !entry || (entry->second.where != cudaMemoryTypeDevice && onDevice(pointer, bytes));
}

bool canCopy(const void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault)
    return (onDevice(to, bytes) || onHost(to, bytes)) && (onDevice(from, bytes) || onHost(from, bytes));
  bool toDevice = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  bool fromDevice = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  return (toDevice ? onDevice(to, bytes) : onHost(to, bytes)) &&
         (fromDevice ? onDevice(from, bytes) : onHost(from, bytes));
}
} // namespace

namespace emulated {
#if __has_feature(address_sanitizer)
// The sanitizer knows the exact bounds, where its own allocator is used.
DeviceMemory::DeviceMemory() {}
DeviceMemory::~DeviceMemory() {}

cudaError_t allocate(void **p, size_t bytes, cudaMemoryType where) {
  *p = nullptr;
  if (bytes && posix_memalign(p, ALIGNMENT, bytes))
    return result(cudaErrorMemoryAllocation);
  if (bytes) {
    std::memset(*p, FRESH, bytes);
    all[(char *)*p] = {(char *)*p, bytes, bytes, where, false};
  }
  return cudaSuccess;
}
static void discard(Allocation &a) {
  ::free(a.pages);
  all.erase(a.pages);
}
#else
DeviceMemory::DeviceMemory() {
  if (users++ == 0)
    for (const auto &[p, a] : all)
      if (a.where == cudaMemoryTypeDevice && !a.freed)
        open(a, true);
}
DeviceMemory::~DeviceMemory() {
  if (--users == 0)
    for (const auto &[p, a] : all)
      if (a.where == cudaMemoryTypeDevice && !a.freed)
        open(a, false);
}

// The last byte is as near to the end of its page as the alignment lets it.
cudaError_t allocate(void **p, size_t bytes, cudaMemoryType where) {
  *p = nullptr;
  if (bytes == 0)
    return cudaSuccess;
  if (bytes > (size_t)16 << 30)
    return result(cudaErrorMemoryAllocation);
  size_t aligned = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, pageBytes = (aligned + PAGE - 1) / PAGE * PAGE;
  void *map = mmap(nullptr, pageBytes + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED)
    return result(cudaErrorMemoryAllocation);
  Allocation a = {(char *)map + PAGE, pageBytes, bytes, where, false};
  open(a, true);
  char *first = a.pages + pageBytes - aligned;
  std::memset(a.pages, SLACK, first - a.pages);
  std::memset(first, FRESH, bytes);
  std::memset(first + bytes, SLACK, aligned - bytes);
  if (where == cudaMemoryTypeDevice && !users)
    open(a, false);
  all[first] = a;
  *p = first;
  return cudaSuccess;
}
static void discard(Allocation &a) {
  madvise(a.pages, a.pageBytes, MADV_DONTNEED);
  open(a, false);
  a.freed = true;
}
#endif

cudaError_t release(void *pointer, cudaMemoryType where) {
  if (!pointer)
    return cudaSuccess;
  auto entry = all.find(static_cast<char *>(pointer));
  if (entry == all.end() || entry->second.freed ||
      (where == cudaMemoryTypeHost) != (entry->second.where == cudaMemoryTypeHost))
    return result(cudaErrorInvalidValue);
  DeviceMemory access;
  checkSlack(entry->first, entry->second);
  discard(entry->second);
  return cudaSuccess;
}

cudaError_t copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0)
    return cudaSuccess;
  if (!to || !from || !canCopy(to, from, bytes, kind)) // &v[0] of an empty vector is null
    return result(cudaErrorInvalidValue);
  DeviceMemory access;
  std::memmove(to, from, bytes);
  return cudaSuccess;
}

cudaError_t copy2D(void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width, size_t height,
                   cudaMemcpyKind kind) {
  if (width > toPitch || width > fromPitch)
    return result(cudaErrorInvalidValue);
  for (size_t row = 0; row < height; ++row)
    if (cudaError_t e = copy((char *)to + row * toPitch, (const char *)from + row * fromPitch, width, kind))
      return e;
  return cudaSuccess;
}

cudaError_t fill(void *p, int value, size_t bytes) {
  if (bytes == 0)
    return cudaSuccess;
  if (!onDevice(p, bytes))
    return result(cudaErrorInvalidValue);
  DeviceMemory access;
  std::memset(p, value, bytes);
  return cudaSuccess;
}

const char *describe(const char *p) {
  if (isStackEnd(p))
    return "the stack of a device thread is full";
  const auto *entry = find(p, 2 * PAGE);
  if (!entry) {
    auto next = all.upper_bound(p);
    return next != all.end() && p + 2 * PAGE > next->first ? "before an allocation" : nullptr;
  }
  if (p >= entry->first + entry->second.bytes)
    return "beyond the end of an allocation";
  return entry->second.freed ? "memory that was freed" : "device memory, on the host";
}
} // namespace emulated

cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
  *available = *total = (size_t)8 << 30;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *a, const void *p) {
  const auto *entry = find(static_cast<const char *>(p));
  *a = {entry ? entry->second.where : cudaMemoryTypeUnregistered, 0, (void *)p, (void *)p};
  if (a->type == cudaMemoryTypeDevice)
    a->hostPointer = nullptr;
  return cudaSuccess;
}

cudaError_t cudaDeviceReset() {
  checkAll();
  return cudaSuccess;
}
